"""What holds for all tests before anything is imported: threads, and what is not looked through."""

import os
from importlib.util import find_spec

if "PYTEST_XDIST_WORKER" in os.environ:
    # A worker has a core of its own: further threads of PyTorch and BLAS would only wait for each other, busily.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Modules that need an extra, where that is not installed; any other that cannot be imported is an error.
collect_ignore = [] if find_spec("inspect_ai") else ["src/plurivox/inspect.py"]
collect_ignore += [] if find_spec("torch") else ["src/plurivox/torch", "src/plurivox/models"]
