"""Write the parts of the documentation that come from the code.

``python -m docs.generate`` writes them, ``python -m docs.generate --check`` tells whether they are up to date.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import plurivox as pv

FOLDER = Path(__file__).parent
COMMANDS = (
    "demo",
    "describe",
    "simulate",
    "variation",
    "cohesion",
    "responsiveness",
    "scale",
    "score",
    "align",
    "estimate",
    "judge",
    "aggregate",
    "advise",
    "select",
    "curate",
    "soft-labels",
    "item",
    "items",
    "ask",
    "answers",
    "fit",
    "predict",
    "report",
    "serve",
    "data",
    "pack",
    "work",
    "reproduce",
)


def cli_page() -> str:
    """Return the help text of every command."""
    parts = [
        "# Command line\n",
        "Made from `plurivox --help`; `make docs` writes it anew.\n",
        _help(),
        *(part for command in COMMANDS for part in (f"## plurivox {command}\n", _help(command))),
    ]
    return "\n".join(parts)


def _help(*command: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1"}
    program = [sys.executable, "-m", "plurivox", *command, "--help"]
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
    return f"```\n{done.stdout.strip()}\n```\n"


def api_page() -> str:
    """Return every public name with its signature and its docstring."""
    parts = [
        "# Python interface\n",
        "Everything in `plurivox.__all__`, made from the docstrings by `make docs`. Other modules have pages of their",
        "own: `plurivox.statistics` ([statistics](statistics.md)), `plurivox.ask` ([asking](ask.md)),",
        "`plurivox.models` and `plurivox.torch` ([learning](learning.md)).\n",
        "What a lens gives back has `rows`, every value, which `to_frame()` shows as a table; `withheld` and",
        "`outside`, for each axis how many groups were too small to show and how many raters have no value on it;",
        "`draws`, the permutations and bootstrap draws of each axis; `settings`, what was asked for and the seed.",
        "`findings()` says what stands out in sentences, `statements()` has them as records with `claim`, `p` and",
        "what p rests on ([claims](claims.md)).\n",
    ]
    for name in pv.__all__:
        thing = getattr(pv, name)
        parts.append(f"## {name}\n")
        if inspect.isfunction(thing):
            parts.append(f"```python\npv.{name}{_signature(thing)}\n```\n")
        parts.append(f"```text\n{inspect.cleandoc(thing.__doc__ or '')}\n```\n")
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            methods = [(n, m) for n, m in vars(thing).items() if not n.startswith("_") and _is_method(m)]
            for method_name, method in methods:
                plain = getattr(method, "__func__", method)
                summary = inspect.cleandoc(plain.__doc__ or "").split("\n", 1)[0]
                parts.append(f"- `.{method_name}{_signature(plain)}`: {summary}")
            if methods:
                parts.append("")
    return "\n".join(parts)


def _is_method(thing: object) -> bool:
    return inspect.isfunction(thing) or isinstance(thing, classmethod)


def _signature(function: object) -> str:
    text = str(inspect.signature(function))  # type: ignore[arg-type]
    text = re.sub(r"<plurivox\.|<function.*?>", "", text)
    text = re.sub(r"\((self|cls)(, )?", "(", text)
    return re.sub(r" -> '?([^']*)'?$", r" -> \1", text).replace("'", "")


def picture() -> str:
    """Return a terminal capture of ``plurivox describe`` on the demo study, as SVG without outside fonts."""
    from rich.console import Console

    from plurivox.cli.show import show_description
    from plurivox.simulation.simulate import DEMO

    console = Console(record=True, width=92, file=open(os.devnull, "w"), markup=False, highlight=False)  # noqa: SIM115
    console.print("$ plurivox describe ratings.csv --raters raters.csv", style="bold")
    found = pv.describe(pv.simulate(**DEMO).ratings)
    show_description(replace(found, source="ratings.csv"), console)
    svg = console.export_svg(title="plurivox", unique_id="plurivox")
    return re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)


def statistics_page() -> str:
    """Return what each statistic is, from the registry."""
    from plurivox.statistics.registry import STATISTICS

    parts = ["# Statistics\n", "Made from the registry in `plurivox.statistics` by `make docs`.\n"]
    for one in STATISTICS.values():
        low, high = one.range
        parts += [f"## {one.name}\n", f"{one.meaning[0].upper()}{one.meaning[1:]}.\n", f"```\n{one.equation}\n```\n"]
        function = f" Function: `plurivox.statistics.{one.function.__name__}`." if one.function else ""
        bounds = f"From {low:g} to {high:g}".replace("inf", "∞").replace("-", "−")
        parts.append(f"{bounds}. Higher: {one.higher_means}.{function} {one.reference}.\n")
    return "\n".join(parts)


def rules_page() -> str:
    """Return the rules by which answers are read, in their order."""
    from plurivox.reader.rules import described_rules

    parts = [
        "# Rules of reading\n",
        "An answer of a language model is read by the first of these rules that has something to say; the rule and",
        "the place in the text are stored with the answer. Made from `plurivox.reader.rules` by `make docs`; how to",
        "use it is in [reading.md](reading.md). What a rule finds is unreadable if the text offers it as one of",
        'several ("A or B").\n',
    ]
    parts += [f"{number}. `{one.name}`: {one.meaning}" for number, one in enumerate(described_rules(), 1)]
    return "\n".join([*parts, ""])


def datasets_page() -> str:
    """Return what is known of each public data set, from its record."""
    from plurivox.data.catalogue import catalogue

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
    "rules.md": rules_page, "datasets.md": datasets_page, "cli.md": cli_page, "api.md": api_page,
    "statistics.md": statistics_page, "describe.svg": picture,
}  # fmt: skip


def main() -> None:
    """Write the pages, or with ``--check`` compare them."""
    stale = []
    for name, make in PAGES.items():
        path, text = FOLDER / name, make()
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(f"docs/{name}")
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}; run make docs")


if __name__ == "__main__":
    main()
