"""Who does the work of a command: threads of this process, workers on this machine, or a cluster."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plurivox.cli.options import option
from plurivox.cli.progress import telling

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from plurivox.engine.pool import Running

OPTIONS: dict[str, Any] = {
    "threads": Annotated[int | None, option("How many threads to use (default: one per core).", "N", min=1)],
    "workers": Annotated[int | None, option("Use this many processes instead, through Dask.", "N", min=1)],
    "dask": Annotated[
        str | None,
        option("Use the workers of this Dask scheduler instead, such as tcp://scheduler:8786. They open a packed "
        "study themselves.", "ADDRESS"),
    ],
}  # fmt: skip
"""What a command may be told about who does its work; None if nothing is said."""


@contextlib.contextmanager
def running(given: Mapping[str, Any]) -> Iterator[Running]:
    """Yield how to run work as the command line says, with progress bars."""
    from plurivox.engine.pool import Running

    with telling() as progress, _executor(given) as executor:
        yield Running(given.get("threads"), executor, progress)


@contextlib.contextmanager
def _executor(given: Mapping[str, Any]) -> Iterator[Executor | None]:
    address, n_workers = given.get("dask"), given.get("workers")
    if sum(given.get(name) is not None for name in OPTIONS) > 1:
        raise typer.BadParameter("give only one of --threads, --workers and --dask")
    if address is None and n_workers is None:
        yield None
        return
    from plurivox.engine.cluster import Cluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is raised and reported once
    cluster = Cluster.connect(address) if address is not None else Cluster.local(n_workers or 1)
    with cluster:
        yield cluster
