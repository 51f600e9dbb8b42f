"""Clusters: work on other machines through Dask, which nothing else imports.

A worker gets a unit of work once, with its large arrays, and opens the parts of a packed study itself; only sums come
back. Units are pure, so work lost with one worker is done by another, and neither who does it nor how often changes a
single bit.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from functools import partial
from importlib import metadata
from typing import Any

from numpy.typing import NDArray

from plurivox.base.errors import MissingExtraError, PlurivoxError
from plurivox.engine.pool import Parcel, Shipment, Work, digest_of, loaded

PACKAGES = ("plurivox", "numpy", "numba")
"""The packages whose versions must be the same here and on every worker, so that results have the same bits."""
PATIENCE = 30.0
"""How many seconds a cluster may be without a scheduler or a worker."""
LOST = 3
"""How often a unit that the scheduler lost is submitted again; the scheduler resubmits those lost with a worker."""
_LOOK = 2.0  # seconds between looks at who is there
_SHARED = "Every worker needs the folder under the same path: put it on storage that all of them share."


class ClusterError(PlurivoxError):
    """A cluster cannot be reached, has no worker, or has workers that cannot do the work."""


def versions() -> dict[str, str]:
    """Return the versions that are installed here."""
    return {name: metadata.version(name) for name in PACKAGES}


class Cluster(Executor):
    """An executor whose workers are those of a Dask scheduler.

    Parameters
    ----------
    client
        A ``distributed.Client``, which is left open.
    patience
        How long to wait, in seconds, if there is no worker.
    """

    def __init__(self, client: Any, patience: float = PATIENCE) -> None:
        self.client, self.patience = client, patience
        self._held: dict[str, Any] = {}
        self._seen = self._looked = 0.0
        self._count = 0
        self._closes: list[Callable[[], object]] = []
        try:
            client.wait_for_workers(1, timeout=patience)
        except (TimeoutError, OSError):
            raise ClusterError(
                f"there is no worker at {self._address}. Start some with dask worker {self._address}."
            ) from None
        for worker, found in client.run(versions, on_error="return").items():
            _refuse(worker, found)
        self._look()

    @classmethod
    def of(cls, executor: Any) -> Cluster:
        """Return the cluster of a client or of its executor, the same each time."""
        client = getattr(executor, "_client", executor)
        if client not in _clusters:
            _clusters[client] = cls(client)
        return _clusters[client]

    @classmethod
    def connect(cls, address: str, patience: float = PATIENCE) -> Cluster:
        """Return the cluster of a scheduler at an address such as ``tcp://scheduler:8786``."""
        distributed = _distributed()
        try:
            client = distributed.Client(address, timeout=min(patience, 10.0), set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(
                f"no scheduler answers at {address} ({error}). Start one with dask scheduler, its workers with dask "
                f"worker {address}, and give the address that it prints."
            ) from None
        return cls._own(client, patience, [client.close])

    @classmethod
    def local(cls, n_workers: int) -> Cluster:
        """Start workers on this machine, each a process."""
        distributed = _distributed()
        made = distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
        )
        client = distributed.Client(made, set_as_default=False)
        return cls._own(client, PATIENCE, [client.close, made.close])

    @classmethod
    def _own(cls, client: Any, patience: float, closes: list[Callable[[], object]]) -> Cluster:
        """Return the cluster of a client that nobody else closes."""
        try:
            made = cls(client, patience)
        except BaseException:
            for close in closes:
                close()
            raise
        made._closes = closes
        return made

    @property
    def n_workers(self) -> int:
        """How many units it works on at once; workers may come and go."""
        if time.monotonic() - self._looked > _LOOK:
            self._look()
        return max(self._count, 1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called by a worker."""
        return _Task(self, lambda: self.client.submit(fn, *args, pure=False, **kwargs)).outcome

    def ship(self, work: Work) -> _Shipment:
        """Hand over a unit of work."""
        return _Shipment(self, Parcel.of(work))

    def watch(self) -> None:
        """Raise an error if there has been no scheduler or no worker for too long."""
        if time.monotonic() - self._looked > _LOOK:
            self._look()
        if time.monotonic() - self._seen > self.patience:
            raise ClusterError(
                f"no worker is left at {self._address}. Start workers with dask worker {self._address} and try again; "
                "for a packed study, finished work is not repeated."
            )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close what this cluster opened; a client that was passed in stays open."""
        self._held.clear()
        for close in self._closes:
            close()
        self._closes = []

    def held(self, array: NDArray[Any]) -> Any:
        """Return the cluster's copy of a large array: sent once, and forgotten when it is gone here."""
        name = digest_of(array)
        if name not in self._held:
            self._held[name] = self.client.submit(_same, array, key=f"plurivox-array-{name}", pure=False)
            weakref.finalize(array, self._held.pop, name, None)
        return self._held[name]

    @property
    def _address(self) -> str:
        return str(getattr(self.client.scheduler, "address", "its scheduler"))

    def _look(self) -> None:
        """See who is there."""
        self._looked = time.monotonic()
        try:
            there = self.client.scheduler_info(n_workers=-1)["workers"] if self.client.status == "running" else {}
        except (OSError, RuntimeError, TimeoutError):
            there = {}
        self._count = sum(one.get("nthreads", 1) for one in there.values())
        if there:
            self._seen = self._looked


_clusters: weakref.WeakKeyDictionary[Any, Cluster] = weakref.WeakKeyDictionary()


class _Shipment(Shipment):
    """Work that was handed to a cluster."""

    def __init__(self, cluster: Cluster, parcel: Parcel) -> None:
        self._cluster, self._name, self._known = cluster, parcel.name, versions()
        self._arrays = [cluster.held(array) for array in parcel.arrays]
        self._content = parcel.content

    def submit(self, first: int, last: int) -> Future[Any]:
        given = (self._name, self._known, self._content, self._arrays, first, last)
        return _Task(self._cluster, lambda: self._cluster.client.submit(perform, *given, pure=False)).outcome

    def watch(self) -> None:
        self._cluster.watch()

    def forget(self) -> None:
        self._arrays = []


class _Task:
    """A unit in progress: its outcome here, whichever worker computes it."""

    def __init__(self, cluster: Cluster, start: Callable[[], Any]) -> None:
        self.outcome: Future[Any] = Future()
        self._cluster, self._start, self._left = cluster, start, LOST
        self._go()

    def _go(self) -> None:
        there = self._start()
        self.outcome.add_done_callback(partial(_stop, there))
        there.add_done_callback(self._came)

    def _came(self, there: Any) -> None:
        """Take over its outcome, or submit it again if it was lost."""
        result: Any = None
        error: Exception | None = None
        try:
            result = there.result()
        except CancelledError as lost:  # only this class cancels, so the scheduler has forgotten it
            if self._left and not self.outcome.cancelled() and self._cluster.client.status == "running":
                self._left -= 1
                self._go()
                return
            error = _lost(lost)
        except Exception as found:
            error = _lost(found) if (type(found).__name__ == "KilledWorker") else found
        if self.outcome.set_running_or_notify_cancel():
            if error is None:
                self.outcome.set_result(result)
            else:
                self.outcome.set_exception(error)


def _stop(there: Any, outcome: Future[Any]) -> None:
    if outcome.cancelled():
        there.cancel()


def _lost(error: BaseException) -> ClusterError:
    return ClusterError(
        f"the same piece of work was lost with several workers, one after the other ({error}). Most often they have "
        "too little memory: give them more, or fewer threads each, and try again."
    )


def perform(name: str, known: dict[str, str], content: bytes, arrays: list[NDArray[Any]], first: int, last: int) -> Any:
    """Do a unit of work, on a worker."""
    from distributed import get_worker

    worker = get_worker().address
    _refuse(worker, versions(), known)
    try:
        return loaded(name, lambda: Parcel(content, arrays))(first, last)
    except PlurivoxError as error:
        raise ClusterError(f"the worker {worker} cannot do the work. {error} {_SHARED}") from None


def _refuse(worker: str, found: Any, known: dict[str, str] | None = None) -> None:
    """Raise an error if a worker does not have the same versions as the caller."""
    known = versions() if known is None else known

    def told(installed: dict[str, str]) -> str:
        return ", ".join(f"{name} {version}" for name, version in installed.items())

    if not isinstance(found, dict):
        raise ClusterError(f"the worker {worker} has no working plurivox ({found}). Install {told(known)} there.")
    if found != known:
        raise ClusterError(
            f"the worker {worker} has {told(found)}, but this machine has {told(known)}. Install the same "
            "versions on both, since others may give slightly different numbers."
        )


def _same(array: NDArray[Any]) -> NDArray[Any]:
    return array


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("clusters need Dask", "dask") from None
    return distributed
