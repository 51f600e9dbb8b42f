"""What is not looked through for tests: a module that needs an extra, where that is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("inspect_ai") else ["src/plurivox/inspect.py"]
