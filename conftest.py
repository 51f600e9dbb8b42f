"""What holds for all tests before anything is imported: threads, BLAS, and what is not looked through."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # A worker has a core of its own: further threads of PyTorch and BLAS would only wait for each other, busily.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# OpenBLAS sums in another order on other processors; with this, last digits are the same on all that kernels are for.
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

# Modules that need an extra, where that is not installed; any other that cannot be imported is an error.
collect_ignore = [] if find_spec("inspect_ai") else ["src/plurivox/inspect.py"]
collect_ignore += ["src/plurivox/intake"]  # an old name, of which it warns
collect_ignore += [] if find_spec("torch") else ["src/plurivox/torch", "src/plurivox/models"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files in which nothing has the one mark that is asked for; to import them all takes half a minute."""
    mark = config.option.markexpr
    if not mark.isidentifier() or collection_path.suffix != ".py":
        return None
    marked = collection_path.name.startswith("test_") and mark in collection_path.read_text(encoding="utf-8").lower()
    return None if marked else True
