"""Write the types of what users import: ``python -m tools.stubs``.

Functions whose keywords come from a settings record have no signature that a type checker could read, and names that
are imported when they are first used are hidden from it. ``plurivox/__init__.pyi`` and ``plurivox/plots/__init__.pyi``
tell it both; a test checks that they say what the program says.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import plurivox
from plurivox import plots

PACKAGE = Path(__file__).parents[1] / "src" / "plurivox"
HEAD = '"""{}"""\n\n# Written by python -m tools.stubs.\n\n'
STANDARD = {
    "Any": "typing", "ArrayLike": "numpy.typing", "Executor": "concurrent.futures", "Iterable": "collections.abc",
    "Mapping": "collections.abc", "Path": "pathlib", "Sequence": "collections.abc",
}  # fmt: skip
OURS = {
    "AnswersLike": "lenses.alignment.matching", "By": "domain.axis", "Choice": "read.settings",
    "Conflicts": "domain.choices", "Decisions": "actions.curate.parts", "Duplicates": "domain.choices",
    "FilePath": "base.arguments", "Format": "read.settings", "Frame": "base.arguments",
    "GivenPoints": "domain.points", "GivenPoles": "domain.scale", "GivenRecoding": "domain.recoding",
    "GivenScale": "domain.scale_files", "ItemId": "lenses.item.run", "Label": "domain.scale",
    "Layout": "domain.choices", "Progress": "engine.pool", "ReferenceLike": "lenses.responsiveness.references",
}  # fmt: skip
"""Names in signatures that are not public, and where they are."""


def package_stub() -> str:
    """Return the types of ``import plurivox``."""
    homes = vars(plurivox)["_HOMES"]
    asked = [name for name in plurivox.__all__ if hasattr(getattr(plurivox, name), "settings") and _made(name)]
    imports = [f"from plurivox import {name} as {name}" for name in vars(plurivox)["_MODULES"]]
    imports += [
        f"from plurivox.{home} import {name} as {name}" for name, home in sorted(homes.items()) if name not in asked
    ]
    functions = [_function(name, getattr(plurivox, name)) for name in asked]
    used = set(re.findall(r"\b[A-Z]\w+", " ".join(head for head, _ in functions)))
    public = {name for name in used if name in homes}
    unknown = used - public - STANDARD.keys() - OURS.keys() - {"None", "False", "True", "DataFrame"}
    if unknown:
        sys.exit(f"tools/stubs.py does not know where {', '.join(sorted(unknown))} come from.")
    imports += [f"from {home} import {name}" for name, home in STANDARD.items() if name in used]
    imports += [f"from plurivox.{home} import {name}" for name, home in OURS.items() if name in used]
    imports.append("import polars as pl")
    body = [f'{head}\n    """{about}"""' for head, about in functions]
    listed = f"__all__ = {plurivox.__all__!r}\n__version__: str"
    return _formatted(
        "\n".join([HEAD.format((plurivox.__doc__ or "").splitlines()[0]), *imports, "", listed, "", *body])
    )


def _made(name: str) -> bool:
    return not isinstance(getattr(plurivox, name), type)


def _function(name: str, function: Callable[..., Any]) -> tuple[str, str]:
    """Return the head of a function and what it does, in one sentence."""
    signature = inspect.signature(function)
    shown = signature.replace(
        parameters=[
            one.replace(default=one.default if _simple(one.default) else ...) for one in signature.parameters.values()
        ]
    )
    return f"def {name}{_unquoted(shown)}:", (inspect.getdoc(function) or "").splitlines()[0]


def _unquoted(signature: inspect.Signature) -> str:
    """Return a signature whose annotations, which are texts, stand there as code."""
    parts: list[str] = []
    star = False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not star:
            parts, star = [*parts, "*"], True
        default = "" if one.default is one.empty else f" = {'...' if one.default is ... else repr(one.default)}"
        parts.append(f"{one.name}: {one.annotation}{default}")
    return f"({', '.join(parts)}) -> {signature.return_annotation}"


def _simple(default: object) -> bool:
    """Return whether a default is shown; types checkers need none, but readers like to see it."""
    return default is inspect.Parameter.empty or default is None or isinstance(default, bool | int | float | str)


def plots_stub() -> str:
    """Return the types of ``plurivox.plots``."""
    imports = [
        f"from plurivox.plots.{home} import {name} as {name}" for name, home in sorted(vars(plots)["_HOMES"].items())
    ]
    own = ["from collections.abc import Callable", "from typing import Any", *imports, "", "OF_LENSES: dict[str, str]",
           "def chart_of(lens: str) -> Callable[..., Any]: ..."]  # fmt: skip
    return _formatted(
        "\n".join([HEAD.format((plots.__doc__ or "").splitlines()[0]), *own, f"__all__ = {plots.__all__!r}"])
    )


def _formatted(text: str) -> str:
    """Return it as the formatter writes it."""
    ruff = [sys.executable, "-m", "ruff"]
    sorted_ = subprocess.run(
        [*ruff, "check", "-q", "--select", "I", "--fix", "--stdin-filename", "src/plurivox/__init__.pyi", "-"],
        input=text, capture_output=True, text=True, check=True, cwd=PACKAGE.parents[1],
    ).stdout  # fmt: skip
    return subprocess.run(
        [*ruff, "format", "-q", "--stdin-filename", "src/plurivox/__init__.pyi", "-"],
        input=sorted_, capture_output=True, text=True, check=True, cwd=PACKAGE.parents[1],
    ).stdout  # fmt: skip


STUBS = {"__init__.pyi": package_stub, "plots/__init__.pyi": plots_stub}


def main() -> None:
    """Write them."""
    for name, make in STUBS.items():
        (PACKAGE / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
