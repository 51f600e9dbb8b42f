"""The documentation and the package keep their promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

import plurivox as pv
from docs.building import pages
from plurivox import plots
from plurivox.cli.app import program
from support import run_cli

ROOT = Path(__file__).parent.parent


def test_all_is_sorted_and_importable() -> None:
    assert pv.__all__ == sorted(pv.__all__)
    for name in pv.__all__:
        assert getattr(pv, name).__doc__
    assert set(pv.__all__) <= set(dir(pv))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pv.nonsense  # type: ignore[attr-defined]


def test_every_public_name_has_a_page() -> None:
    listed = [name for _, module, names in pages.public_names() if module == "plurivox" for name in names]
    assert sorted(listed) == pv.__all__
    made = pages.name_pages()
    assert {f"api/plurivox.{name}.rst" for name in pv.__all__} <= made.keys()
    assert {f"api/plurivox.plots.{name}.rst" for name in plots.__all__} <= made.keys()


def test_the_site_is_built_without_pytorch_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for module in ("plurivox.models", "plurivox.torch"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(pages, "PAGES", {"api.md": pages.api_page})
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "plurivox.models.fit.rst").write_text("from a build with it")
    pages.write(SimpleNamespace(srcdir=tmp_path))  # type: ignore[arg-type]
    text = (tmp_path / "api.md").read_text()
    assert "This site was built without what plurivox.models needs, and does not list its names." in text
    made = [path.stem for path in (tmp_path / "api").iterdir()]
    assert "plurivox.cohesion" in made
    assert not [name for name in made if name.startswith(("plurivox.models.", "plurivox.torch."))]


def test_every_chart_is_in_the_gallery() -> None:
    scripts = "".join(path.read_text() for path in (ROOT / "docs" / "gallery").glob("*/*.py"))
    drawn = [name for name in plots.__all__ if f"{name}_data" in plots.__all__]
    assert [name for name in drawn if f"plots.{name}(" not in scripts] == []


def test_every_command_and_option_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--permutations" in pages._help("cohesion")  # in a process of its own, as those of the page are
    for name in ("COLUMNS", "TERMINAL_WIDTH"):
        monkeypatch.setenv(name, "100")
    monkeypatch.setattr(pages, "_help", lambda *command: run_cli(*command, "--help").out)
    page = pages.cli_page()
    group = typer.main.get_command(program())
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert f"## plurivox {name}\n" in page
        section = page.split(f"## plurivox {name}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            assert parameter.help, f"{name}: {parameter.name} has no help"
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option in section, f"{name}: {option} is not in the page of commands"


def test_every_setting_is_documented() -> None:
    from plurivox.config import _KNOWN

    page = (ROOT / "docs" / "data.md").read_text()
    for section, keys in _KNOWN.items():
        assert not section or f"[{section}]" in page
        for key in keys:
            assert key in page


def test_a_command_made_alone_is_the_one_among_all() -> None:
    """Only the command that is asked for is made; what is no command finds them all, to suggest one."""

    def made(*only: str) -> dict[str, Any]:
        group: Any = typer.main.get_command(program(*only))
        return {
            name: (command.help, [(one.name, one.opts, one.help, one.required) for one in command.params])
            for name, command in group.commands.items()
        }

    every = made()
    assert len(every) > 20
    for name, told in every.items():
        assert made(name) == {name: told}
    assert made("coehsion") == made("--help") == every


@pytest.mark.parametrize("command", ["import plurivox", "import plurivox.cli.app"])
def test_starting_up_imports_nothing_heavy(command: str) -> None:
    heavy = ["numba", "polars", "scipy", "scipy.stats", "altair", "numpy", "pandas"]
    script = f"import sys; {command}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nsys.argv = ['plurivox', '--help']\nfrom plurivox.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numba', 'polars', 'scipy.stats', 'altair') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_requirement_files_name_no_address() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        assert "://" not in path.read_text()


def test_the_readme_names_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text().split("## ")[0]
    for command in ("make demo", "make test", "pip install ."):
        assert command in first_screen
