"""``plurivox work``: an analysis of a packed study as tasks, for any scheduler of programs on many machines."""

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from plurivox.cli.printing import say
from plurivox.cli.progress import several
from plurivox.errors import FileError

if TYPE_CHECKING:
    from plurivox.engine.sharing import Pass, Share

MORE = 75
"""Exit code of finish if another round has to follow; ``sysexits.h`` calls it a temporary failure."""
_WHAT = "plurivox work plan"
Action = Literal["plan", "run", "finish"]


def work(
    action: Annotated[
        Action,
        typer.Argument(metavar="plan|run|finish", help="Divide an analysis into tasks, run one, or combine them all.",
                       show_default=False),
    ],
    rest: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND … | PLAN", help="plan: a command on a packed study, such as cohesion "
        "study.pvx --by gender; run and finish: the file that plan wrote.", show_default=False),
    ],
    tasks: Annotated[int | None, typer.Option("--tasks", help="plan: how many tasks.", metavar="N", min=1)] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="plan: the file to write (default plan.json); sums are saved in a folder "
        "next to it.", metavar="FILE"),
    ] = None,
    task: Annotated[
        int | None, typer.Option("--task", help="run: number of the task, starting at 0.", metavar="N", min=0)
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", help="run: how many threads to use (default: one per "
    "core).", min=1)] = None,
) -> None:  # fmt: skip
    """Divide an analysis of a packed study into tasks that any scheduler can start.

    plan writes a plan; run does one of its tasks on any machine with the same folders; finish prints or writes what the
    command asks for. Tasks may run in any order and more than once. If more work turns out to be needed, such as more
    shuffles for a p-value close to .05, finish plans another round and exits with code 75.
    """
    _refuse_what_is_ignored(action, rest, tasks=tasks, output=output, task=task, threads=threads)
    if action == "plan":
        _plan(rest, tasks or 1, output or Path("plan.json"))
    elif action == "run":
        assert task is not None
        _do(Path(rest[0]), task, threads)
    else:
        _finish(Path(rest[0]))


def _refuse_what_is_ignored(action: Action, rest: Sequence[str], **given: Any) -> None:
    takes = {"plan": ("tasks", "output"), "run": ("task", "threads"), "finish": ()}[action]
    for name, value in given.items():
        if value is not None and name not in takes:
            raise typer.BadParameter(f"--{name} cannot be used with {action}")
    if action != "plan" and len(rest) != 1:
        raise typer.BadParameter(f"{action} takes one plan: plurivox work {action} plan.json")
    for name in ("tasks", "task"):
        if name in takes and given[name] is None:
            raise typer.BadParameter(
                f"{action} needs --{name}, for example --{name} {'64' if name == 'tasks' else '0'}"
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan: the command, and the pieces of work it consists of."""

    path: Path
    command: list[str]
    directory: str
    tasks: int
    round: int
    passes: list[dict[str, Any]]
    versions: dict[str, str]

    @property
    def folder(self) -> Path:
        """Where sums are."""
        return self.path.with_suffix(".work")

    @property
    def files(self) -> list[str]:
        """The names of all pieces; that of number n is made by task n modulo the number of tasks."""
        return [name for one in self.passes for name in one["files"]]

    def missing(self) -> list[int]:
        """Return the numbers of the missing pieces."""
        return [at for at, name in enumerate(self.files) if not (self.folder / name).is_file()]

    def share(self, task: int | None = None) -> "Share":
        """Return what remains to be done."""
        from plurivox.engine.sharing import Share

        self.folder.mkdir(exist_ok=True)
        first = accumulate((len(one["files"]) for one in self.passes), initial=0)
        return Share(
            self.folder, self.tasks, dict(zip((one["name"] for one in self.passes), first, strict=False)), task
        )

    def next(self, missing: Sequence["Pass"]) -> "Plan":
        """Return the plan of the next round."""
        passes = [{"name": one.name, "draws": one.n_draws, "files": list(one.files)} for one in missing]
        return Plan(self.path, self.command, self.directory, self.tasks, self.round + 1, passes, self.versions)

    def write(self) -> None:
        """Write it down."""
        from plurivox.files import write_text

        known = {name: getattr(self, name) for name in ("versions", "command", "directory", "tasks", "round", "passes")}
        write_text(self.path, json.dumps({"what": _WHAT, **known}, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> "Plan":
        """Read a plan, and refuse one made with other versions."""
        from plurivox.engine.cluster import as_text, versions

        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            plan = cls(path.absolute(), **{name: value for name, value in found.items() if name != "what"})
            if found["what"] != _WHAT or not all(isinstance(one["files"], list) for one in plan.passes):
                raise ValueError
        except OSError as error:
            raise FileError(error.strerror or str(error), source=str(path)) from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise FileError("it is not a plan", source=str(path), hint="Make one with plurivox work plan.") from None
        if plan.versions != versions():
            raise FileError(
                f"it was made with {as_text(plan.versions)}, but this is {as_text(versions())}", source=str(path),
                hint="Install the same versions, since others may give different bits, or plan again.",
            )  # fmt: skip
        return plan


def _plan(command: list[str], tasks: int, path: Path) -> None:
    from plurivox.engine.cluster import versions
    from plurivox.files import will_write
    from plurivox.lenses import lenses

    will_write(path)
    shared = [lens.command for lens in lenses()]
    if command[0] not in shared:
        raise typer.BadParameter(
            f"the work of {command[0]} cannot be shared; it can for these commands: {', '.join(shared)}"
        )
    empty = Plan(path.absolute(), command, os.getcwd(), tasks, 0, [], versions())
    share = empty.share()
    try:
        _asked(empty, share)
    finally:
        if not share.missing:
            with contextlib.suppress(OSError):
                empty.folder.rmdir()  # unless another plan uses it
    if not share.missing:
        raise FileError(
            "there is nothing to share: this command makes no draws over the parts of a packed study",
            source=" ".join(command), hint="Pack the ratings first (plurivox pack), or run the command directly.",
        )  # fmt: skip
    plan = empty.next(share.missing)
    plan.write()
    _tell(plan)


def _tell(plan: Plan) -> None:
    n_draws = sum(one["draws"] for one in plan.passes)
    say(f"{plan.path}: round {plan.round}, {several(len(plan.files), 'piece')} for {several(plan.tasks, 'task')}, "
        f"{several(n_draws, 'draw')}")  # fmt: skip
    say(f"next: plurivox work run {plan.path.name} --task 0 … --task {plan.tasks - 1}, then plurivox work finish "
        f"{plan.path.name}")  # fmt: skip


def _do(path: Path, task: int, threads: int | None) -> None:
    from plurivox.engine.sharing import Unfinished

    plan = Plan.read(path)
    if task >= plan.tasks:
        raise typer.BadParameter(f"--task must be 0 to {plan.tasks - 1} in {path}")
    share = plan.share(task)
    came = _asked(plan, share, *([] if threads is None else ["--threads", str(threads)]))
    if isinstance(came, Unfinished | None) and not share.met >= set(share.planned):
        raise FileError("the study, its files or the settings have changed", source=str(path), hint="Plan again.")
    if came is not None and any(at % plan.tasks == task for at in plan.missing()):
        raise came
    say(f"task {task}: {several(share.made, 'piece')} made")


def _finish(path: Path) -> None:
    plan = Plan.read(path)
    missing = sorted({at % plan.tasks for at in plan.missing()})
    if missing:
        shown = ", ".join(map(str, missing[:20])) + (f" and {len(missing) - 20} more" if len(missing) > 20 else "")
        raise FileError(
            f"{several(len(missing), 'task')} not done: {shown}", source=str(path),
            hint=f"Run plurivox work run {path} --task {missing[0]}, and the others in the same way.",
        )  # fmt: skip
    share = plan.share()
    share.ends = True
    if _asked(plan, share) is None:
        return
    plan = plan.next(share.missing)
    plan.write()
    say("more work turned out to be needed:")
    _tell(plan)
    raise typer.Exit(MORE)


def _asked(plan: Plan, share: "Share", *more: str) -> Exception | None:
    """Run the command of a plan; return the error that stopped it, or None if it finished."""
    from plurivox.cli.app import program
    from plurivox.engine.sharing import Unfinished

    command = typer.main.get_command(program(plan.command[0]))
    try:
        with contextlib.chdir(plan.directory), share.of_questions():
            command.main([*plan.command, *more], prog_name="plurivox", standalone_mode=False)
    except Unfinished as unfinished:
        return unfinished
    except Exception as error:
        if not share.missing:  # otherwise it may come from the undefined values in place of missing ones
            raise
        return error
    return None
