"""The pages that come from the code; the build writes them before it reads anything."""

from __future__ import annotations

import ast
import html
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import plurivox as pv
from plurivox.base.errors import MissingExtraError
from plurivox.base.settings import Settings
from plurivox.cli.app import program
from plurivox.lenses import lenses

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PARTS = {
    "Reading": (
        "Ratings", "Scale", "Axis", "Answers", "Predictions", "read_ratings", "read_answers", "read_predictions",
        "write_ratings", "combine", "pack", "simulate", "Simulation", "Effect", "SimulatedModel", "SimulatedPredictor",
    ),
    "Errors": ("PlurivoxError", "InputError", "PlurivoxWarning"),
}  # fmt: skip
_MODULES = {
    "plurivox.statistics": "Statistics of arrays", "plurivox.plots": "Charts", "plurivox.ask": "Asking models",
    "plurivox.models": "Models that predict ratings", "plurivox.torch": "Losses for PyTorch",
    "plurivox.data": "Public data sets", "plurivox.reproduce": "Published tables", "plurivox.inspect": "Inspect",
}  # fmt: skip


def cli_page() -> str:
    """Return the help text of every command."""
    group: Any = typer.main.get_command(program())
    parts = ["# Commands\n", "What `plurivox --help`, and `--help` of each command, say.\n", _help()]
    parts += [part for name in group.commands for part in (f"## plurivox {name}\n", _help(name))]
    return "\n".join(parts)


def _help(*command: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1"}
    code = "import sys; from plurivox.cli import main; sys.argv[0] = 'plurivox'; main()"
    program = [sys.executable, "-c", code, *command, "--help"]
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
    return f"```text\n{done.stdout.strip()}\n```\n"


def api_page() -> str:
    """Return tables of all public names, each with a page of its own."""
    text = ["# Python interface\n", _API]
    for title, module, names in public_names():
        text += [f"## {title}\n", f"`import {module}`\n" if module != "plurivox" else "", _summary(module, names)]
    return "\n".join(text)


def public_names() -> list[tuple[str, str, list[str]]]:
    """Return everything public: a title, the module, and its names."""
    named = {name for names in _PARTS.values() for name in names}
    others = [name for name in pv.__all__ if name not in named]
    results = [name for name in others if isinstance(getattr(pv, name), type)]
    functions = [name for name in others if name not in results]
    reading, errors = map(list, _PARTS.values())
    own = {"Reading": reading, "Analyses and actions": functions, "Results": results, "Errors": errors}
    parts = [(title, "plurivox", names) for title, names in own.items()]
    return [*parts, *((title, module, _callable(module)) for module, title in _MODULES.items())]


def _callable(module: str) -> list[str]:
    """Return the public functions and classes of a module, none if it cannot be imported for want of a package."""
    try:
        loaded = importlib.import_module(module)
    except MissingExtraError:
        return []
    return [name for name in loaded.__all__ if callable(getattr(loaded, name))]


def name_pages() -> dict[str, str]:
    """Return the page of every public name."""
    pages = {}
    for _, module, names in public_names():
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            kind = "class" if isinstance(thing, type) else "function"
            kind = "exception" if kind == "class" and issubclass(thing, BaseException | Warning) else kind
            members = "   :members:\n   :inherited-members: Exception, tuple\n" if kind == "class" else ""
            shown = f"{module}.{name}"
            pages[f"api/{shown}.rst"] = f"{name}\n{'=' * len(name)}\n\n.. auto{kind}:: {shown}\n{members}"
    return pages


_API = """`import plurivox as pv`. Every analysis takes {class}`plurivox.Ratings`, settings by name, and returns a
frozen result. A result has `rows`, every value, which `to_frame()` shows as a table; `withheld` and `outside`, for
each attribute how many groups were too small to show and how many raters have no value; `draws`, the permutations
and bootstrap draws; and `settings`, what was asked for and the seed. `findings()` says what stands out in
sentences, and `statements()` gives them as records with `claim`, `p` and what p rests on ([claims](claims.md)).
"""


def _summary(module: str, names: Any) -> str:
    if not names:
        return f"This site was built without what {module} needs, and does not list its names.\n"
    lines = [
        "```{eval-rst}",
        f".. currentmodule:: {module}",
        "",
        ".. autosummary::",
        "   :toctree: api",
        "   :nosignatures:",
    ]
    return "\n".join([*lines, "", *(f"   {name}" for name in names), "```", ""])


def settings_page() -> str:
    """Return every setting of every analysis, from the records that Python, the command line and TOML files share."""
    parts = ["# Settings\n", _SETTINGS]
    for lens in lenses():
        parts += [f"## {lens.name}\n", f"`plurivox {lens.command}`, `pv.{lens.name}`: {_inline(lens.question)}\n"]
        parts.append(_table(lens.settings))
    return "\n".join(parts)


_SETTINGS = """One record holds the settings of an analysis: the keyword of the Python function, the option of the
command, and the key of its section in `plurivox.toml` are the same thing.
"""


def _table(settings: type[Settings]) -> str:
    rows = ["| setting | option | default | what it does |", "|---|---|---|---|"]
    for name, spec in settings.specs().items():
        default = "needed" if spec.required else f"`{spec.default!r}`".replace("|", "\\|")
        rows.append(f"| `{name}` | {_option(name, spec)} | {default} | {_inline(spec.help)} |")
    return "\n".join([*rows, ""])


def _option(name: str, spec: Any) -> str:
    return "" if spec.option == "" else f"`{spec.option or '--' + name.replace('_', '-')}`"


def _inline(text: str) -> str:
    """Return text of ours so that Markdown leaves it as it is."""
    return re.sub(r"([|*_<>\[\]`])", r"\\\1", text)


def benchmarks_page() -> str:
    """Return what each script measures, from its docstring."""
    rows = ["| script | what it measures |", "|---|---|"]
    for path in sorted((Path(__file__).parents[2] / "benchmarks").glob("[a-z]*.py")):
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if "def main(" in path.read_text(encoding="utf-8"):
            rows.append(f"| `{path.stem}` | {_inline(' '.join(about.split(chr(10) * 2)[0].split()))} |")
    return "\n".join([_BENCHMARKS, *rows, ""])


_BENCHMARKS = """# Benchmarks

Speed and memory are measured side by side in one run, because machines differ and are busy: read ratios, not
seconds. `make bench` runs everything; each script runs alone with `python -m benchmarks.NAME`. What was decided on
such figures is in [build or buy](decisions.md); what a large study takes is in [scale](scale.md).
"""


def statistics_page() -> str:
    """Return what each statistic is, from the registry."""
    from plurivox.statistics.registry import STATISTICS

    parts = ["# Statistics\n", "What each statistic means, and how it is computed.\n"]
    for one in STATISTICS.values():
        low, high = one.range
        parts += [f"## {one.name}\n", f"{one.meaning[0].upper()}{one.meaning[1:]}.\n", _equation(one.equation)]
        function = f" Function: `plurivox.statistics.{one.function.__name__}`." if one.function else ""
        bounds = f"From {low:g} to {high:g}".replace("inf", "∞").replace("-", "−")
        parts.append(f"{bounds}. Higher: {one.higher_means}.{function} {one.reference}.\n")
    return "\n".join(parts)


def _equation(text: str) -> str:
    """Return an equation of the registry with names in italics and indices below the line."""
    shown = html.escape(text, quote=False)
    shown = re.sub(r"(?<![\w−])([A-Za-zα-ωΣΠ])(?:_(\w+))?(?!\w)", _symbol, shown)
    return f'<p class="equation">{shown}</p>\n'


def _symbol(found: re.Match[str]) -> str:
    index = f"<sub>{found[2]}</sub>" if found[2] else ""
    return f"{found[1] if found[1] in 'ΣΠ' else f'<i>{found[1]}</i>'}{index}"


def rules_page() -> str:
    """Return the rules by which answers are read, in their order."""
    from plurivox.domain.reader.rules import described_rules

    parts = [
        "# Rules of reading\n",
        "An answer of a language model is read by the first of these rules that has something to say; the rule and",
        "the place in the text are stored with the answer. How to",
        "use it is in [reading.md](reading.md). What a rule finds is unreadable if the text offers it as one of",
        'several ("A or B").\n',
    ]
    parts += [f"{number}. `{one.name}`: {one.meaning}" for number, one in enumerate(described_rules(), 1)]
    return "\n".join([*parts, ""])


def datasets_page() -> str:
    """Return what is known of each public data set, from its record."""
    from plurivox.data.sets import catalogue

    parts = [DATASETS]
    for one in catalogue().values():
        sizes = zip(
            ("items", "raters", "ratings"), (one.counts.items, one.counts.raters, one.counts.ratings), strict=True
        )
        size = ", ".join(f"{count:,} {what}" for what, count in sizes if count)
        size += f" ({one.counts.said_by})" if one.counts.said_by and size else one.counts.said_by
        files = "; ".join(f"`{table.name}`" + (f" ({table.rows:,} rows)" if table.rows else "") for table in one.tables)
        fetched = "by `get`" if one.downloads else "by hand, at its home"
        lines = {
            "Question": one.question, "Scale": one.scale, "Size": size, "Raters": ", ".join(one.rater_attributes),
            "Items": ", ".join(one.item_attributes), "Reference": one.reference, "Note": one.note,
            "Licence": one.licence, "Cite": one.citation, "Home": f"<{one.home}>", "Files": files, "Fetched": fetched,
            "The loader has seen": one.seen,
        }  # fmt: skip
        parts += [f"## `{one.name}`\n", f"{one.title}.\n"]
        parts += [f"- {key}: {value}" for key, value in lines.items() if value]
        parts.append("")
    return "\n".join(parts)


DATASETS = """# Data sets

plurivox knows public data sets in which several people rated the same things: where they are, on what terms they may
be used, what their files look like, and how these become ratings with the scale in its right order, what is known of
raters and items, and the labels of experts where there are some. The files themselves are not part of plurivox.

```
plurivox data list                              # all of them, and which are here
plurivox data info dices-350                    # licence, citation, files, columns, counts
plurivox data get dices-350                     # shows the licence, asks, and fetches
plurivox data get kumar-2021 --from FILE        # takes a copy at hand
plurivox data check FILE                        # whether a file is what its record describes, and what differs
```

```python
found = pv.data.load("dices-350")  # or pv.data.load("dices-350", "a/file/at/hand.csv")
pv.responsiveness(found.ratings, reference=found.reference, by=["gender"])
found.licence, found.citation  # what has to be said where it is used
pv.data.check("file.csv").differs
```

**Nothing is fetched silently.** `get` shows the licence and asks; without a terminal it needs `--accept-licence`, and
from Python `pv.data.get(name, accept_licence=True)`. No other command or function uses the network for data sets.

**Files go into the user's cache directory** (on Linux `~/.cache/plurivox/data/NAME`), each after it was complete and,
where its SHA-256 is known, after that was verified. Only addresses of https are fetched, and redirects lead to https
alone. A download that is cut, or stopped with Ctrl-C, is kept as `NAME.partial`; the same command goes on where it
stopped if the server says, by a strong ETag, that the file is still the same. On a full disk it ends in one error and
can be gone on with. What is there is not fetched again; remove the folder to have it fetched anew. Archives are read as
they are, and never unpacked.

**What a loader has seen is said.** Some loaders have read the original file; others follow a published description,
and the list below says so for each. Where the original differs, `plurivox data check FILE --as NAME` tells in what. A
SHA-256 is given only for files that were at hand. Counts are those that were published, or were counted in a copy.

Attributes are called as in the original, without a leading `rater_`. VariErrNLI of LeWiDi 2025 is not among the sets,
since its labels have no order and may be several at once; PRISM is not, since each of its answers has one rater.

Made from the records in `plurivox.data.sets` by `make docs`.
"""

PAGES = {
    "api.md": api_page, "benchmarks.md": benchmarks_page, "cli.md": cli_page, "datasets.md": datasets_page,
    "rules.md": rules_page, "settings.md": settings_page, "statistics.md": statistics_page,
}  # fmt: skip


def write(app: Sphinx) -> None:
    """Write the pages whose text changed, and remove those of names that are not listed."""
    pages = {name: make() for name, make in PAGES.items()} | name_pages()
    for path in Path(app.srcdir, "api").glob("*.rst"):
        if f"api/{path.name}" not in pages:
            path.unlink()  # of a name that is gone, or needs what is not installed
    for name, text in pages.items():
        path = Path(app.srcdir) / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _left_out(app: Sphinx, what: str, name: str, thing: object, skip: bool, options: object) -> bool | None:
    """Leave out what a class declares for the machinery of results, which is written in capitals."""
    return True if what == "class" and name.isupper() else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Have them written before pages are read, and before autosummary looks for what it has to list."""
    app.connect("builder-inited", write, priority=100)
    app.connect("autodoc-skip-member", _left_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
