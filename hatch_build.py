"""Compile the kernels while a wheel is built, so that those who install it need not wait for the compiler.

Where they cannot be compiled, or with ``PLURIVOX_KERNELS=no``, the wheel goes without them, and kernels are compiled on
first use.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileKernels(BuildHookInterface):
    """Fill ``plurivox/kernels/shipped`` before the files of a wheel are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say so if that did not work."""
        found = [str(Path(self.root, "src")), os.environ.get("PYTHONPATH", "")]  # pip puts what a build needs there
        command = [sys.executable, "-m", "plurivox.kernels.shipping"]
        if os.environ.get("PLURIVOX_KERNELS") == "no":
            command.append("none")
        run = subprocess.run(  # noqa: S603
            command,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, found))},
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            self.app.display_warning(f"Without compiled kernels; they are compiled on first use. {run.stderr[-300:]}")
