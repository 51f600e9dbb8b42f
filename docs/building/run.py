"""Blocks that are executed while the site is built, so that what a page shows is what happens.

````
```{run} python
pv.describe(ratings)
```

```{run} shell
plurivox describe ratings.csv
```
````

All blocks of a page share a folder, which is empty at its beginning, and those in Python their names. Under a block
stands what it printed, or how its last expression is shown. A block that fails fails the build; ``:fails:`` says that
it should. ``:hide-output:`` shows nothing under it, ``:lines: 12`` the first twelve lines, and "…" for the others.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

WIDTH = 100
"""Columns of the terminal that commands think they print to."""


@dataclass(slots=True)
class Session:
    """Where the blocks of one page run."""

    folder: tempfile.TemporaryDirectory[str] = field(default_factory=tempfile.TemporaryDirectory)
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def python(self, code: str) -> tuple[str, bool]:
        """Run Python; return what it shows, and whether it went well."""
        tree = ast.parse(code)
        last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        if last is not None:
            tree.body.pop()
        said = io.StringIO()
        with contextlib.chdir(self.folder.name), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                exec(compile(tree, "<page>", "exec"), self.names)  # noqa: S102 - our own pages
                if last is not None:
                    shown = eval(compile(ast.Expression(last.value), "<page>", "eval"), self.names)  # noqa: S307
                    if shown is not None:
                        print(shown if isinstance(shown, str) else repr(shown))
            except Exception as error:
                return said.getvalue() + "".join(traceback.format_exception_only(error)), False
        return said.getvalue(), True

    def shell(self, code: str) -> tuple[str, bool]:
        """Run commands in a shell, as a person would, with the ``plurivox`` of this Python.

        What goes to standard error stands first, since commands say there what they read.
        """
        paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        env = {
            **os.environ, "PATH": os.pathsep.join(paths), "COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH),
            "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": os.pathsep.join(sys.path[:2]),
        }  # fmt: skip
        shell = ["/bin/bash", "-euo", "pipefail", "-c", code]
        ours, theirs = os.openpty()  # so that commands show what they show a person
        with tempfile.TemporaryFile("w+") as said, open(ours, "rb", buffering=0) as screen:
            with subprocess.Popen(shell, cwd=self.folder.name, env=env, stdout=theirs, stderr=said) as started:  # noqa: S603
                os.close(theirs)
                shown = _everything(screen)
            said.seek(0)
            return said.read() + shown, started.returncode == 0


def _everything(screen: BinaryIO) -> str:
    """Return what is written to a terminal until nobody writes any more."""
    parts = []
    with contextlib.suppress(OSError):  # the last one left
        while part := screen.read(4_096):
            parts.append(part)
    text = b"".join(parts).decode().replace("\r\n", "\n")
    return "\n".join(line.rstrip() for line in text.splitlines())


class Run(SphinxDirective):
    """A block that is executed and shown with its output."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "fails": directives.flag, "hide-output": directives.flag, "lines": directives.positive_int,
    }  # fmt: skip

    def run(self) -> list[nodes.Node]:
        """Run it, and return the block and its output."""
        language = self.arguments[0]
        if language not in ("python", "shell"):
            raise self.error(f"run python or shell, not {language}")
        sessions: Any = self.env.current_document.setdefault("plurivox_sessions", {})
        session = sessions.setdefault(self.env.docname, Session())
        code = "\n".join(self.content)
        said, well = getattr(session, language)(code)
        if well == ("fails" in self.options):
            raise ExtensionError(f"{self.env.docname}: a block was {'not ' * (not well)}meant to fail:\n{code}\n{said}")
        shown = [nodes.literal_block(code, code, language=language if language == "python" else "bash")]
        said = self._cut(said.replace(session.folder.name + "/", "").rstrip())
        if said and "hide-output" not in self.options:
            table = re.search(r"\S {2,}\S|\t|│", said)  # columns have to stay under each other
            classes = ["output"] if table else ["output", "sentences"]
            shown.append(nodes.literal_block(said, said, language="text", classes=classes))
        return list(shown)

    def _cut(self, said: str) -> str:
        lines = said.splitlines()
        most = self.options.get("lines", len(lines))
        return "\n".join([*lines[:most], *(["…"] if len(lines) > most else [])])


def setup(app: Sphinx) -> dict[str, Any]:
    """Teach Sphinx the directive."""
    app.add_directive("run", Run)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
