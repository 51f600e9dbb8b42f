"""``python -m plurivox`` is ``plurivox``."""

from plurivox.cli import main

main()
