"""Types shared by the tests."""

from collections.abc import Callable
from pathlib import Path

Write = Callable[[str, str | bytes], Path]
"""Write a file of this name and content into the test's folder."""
