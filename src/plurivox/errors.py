"""What can go wrong, under a public name."""

from plurivox.base.errors import *  # noqa: F403
