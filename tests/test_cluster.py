"""A real cluster on loopback: a scheduler and three workers, each a process started by its command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from cluster_work import Deadly, Square
from plurivox.engine.cluster import Cluster, ClusterError
from plurivox.engine.pool import Running, at_once, in_batches
from test_contract import CASES, ONE, given, usual

pytestmark = pytest.mark.slow
distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'plurivox[dask]'")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(sys.path),
    "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False",
}


class Machines:
    """The processes of a cluster."""

    def __init__(self, folder: Path, n_workers: int = 3) -> None:
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.workers = [self.worker() for _ in range(n_workers)]
        deadline = time.monotonic() + 60
        while not (found := self._found()):
            if self.scheduler.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError("the scheduler has not started")
            time.sleep(0.1)
        self.address: str = found["address"]

    def _found(self) -> Any:
        """Return what the scheduler says of itself, nothing while it is being written."""
        try:
            return json.loads(self.file.read_text())
        except (OSError, json.JSONDecodeError):
            return None

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        more = ("--nthreads", "1", "--death-timeout", "60", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        return self._start("worker", *more, "--local-directory", str(self.file.parent), **environment)

    def _start(self, what: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self.file), *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env={**ENVIRONMENT, **environment}, cwd=self.file.parent, **quiet)  # type: ignore[call-overload, no-any-return]

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    made = Machines(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def client(machines: Machines) -> Iterator[Any]:
    with distributed.Client(machines.address, set_as_default=False) as made:
        made.wait_for_workers(3, timeout=60)
        yield made


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study in a folder."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("packed")
    n_items, per_item, n_raters = 2_000, 60, 300
    raters = np.argsort(rng.random((n_items, n_raters)), axis=1)[:, :per_item].ravel()
    scores = rng.integers(0, 5, len(raters))
    frame = pl.DataFrame({"item": np.repeat(np.arange(n_items), per_item), "rater": raters, "score": scores})
    frame.write_parquet(folder / "ratings.parquet")
    who = pl.DataFrame({"rater": np.arange(n_raters), "gender": ["Man", "Woman", "Other"] * (n_raters // 3)})
    who.write_csv(folder / "raters.csv")
    pv.pack(folder / "ratings.parquet", folder / "study.pvx", raters=folder / "raters.csv", scale="0:4")
    return folder / "study.pvx"


SOME: dict[str, Any] = {"permutations": 300, "max_permutations": 300, "interval": "none"}


def asked(study: Path, **how: Any) -> str:
    found: str = pv.cohesion(pv.read_ratings(study), "gender", **SOME, **how).to_json()
    return found


def test_every_lens_gives_the_bits_of_one_thread(client: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.PlurivoxWarning)
        for name, call in CASES.items():
            assert call(given(ONE), executor=client.get_executor()).to_json() == usual(name, ONE).to_json(), name
    assert at_once(Running.given(executor=client)) == 3


def test_workers_open_a_packed_study_and_one_is_killed(client: Any, machines: Machines, packed: Path) -> None:
    here = asked(packed, threads=1)
    killed: list[int] = []

    def progress(what: str, done: int, total: int) -> None:
        if not killed and "permuting" in what:
            machines.workers[0].send_signal(signal.SIGKILL)
            killed.append(done)

    assert asked(packed, executor=client.get_executor(), progress=progress) == here
    assert killed
    assert machines.workers[0].wait() == -signal.SIGKILL


def started(client: Any, process: subprocess.Popen[Any]) -> str:
    """Wait until a worker works, and return its address."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        for worker, tasks in client.processing().items():
            if any("perform" in str(one) for one in tasks):
                return str(worker)
        time.sleep(0.05)
    raise AssertionError(f"nothing was handed to a worker: {process.communicate()}")


def command(packed: Path, machines: Machines, *options: str) -> subprocess.Popen[str]:
    call = [sys.executable, "-m", "plurivox", "cohesion", str(packed), "--by", "gender", "--json"]
    call += [
        "--permutations",
        "300",
        "--max-permutations",
        "300",
        "--interval",
        "none",
        "--dask",
        machines.address,
        *options,
    ]
    return subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_command_outlives_a_worker(client: Any, machines: Machines, packed: Path) -> None:
    there = command(packed, machines)
    address = started(client, there)
    pids = client.run(os.getpid)
    os.kill(pids[address], signal.SIGKILL)
    out, said = there.communicate(timeout=300)
    assert there.returncode == 0, said
    assert "Traceback" not in said
    one = json.loads(subprocess.run(
        [*there.args[:-2], "--threads", "1"], capture_output=True, text=True, check=True  # type: ignore[index]
    ).stdout)  # fmt: skip
    assert json.loads(out)["rows"] == one["rows"]


def test_ctrl_c_leaves_nothing_at_work(client: Any, machines: Machines, packed: Path) -> None:
    there = command(packed, machines)
    started(client, there)
    there.send_signal(signal.SIGINT)
    _, said = there.communicate(timeout=60)
    assert there.returncode == 130, said
    assert "Traceback" not in said
    deadline = time.monotonic() + 30
    while any(client.processing().values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_all_workers_gone_is_one_error(client: Any, machines: Machines, packed: Path) -> None:
    cluster = Cluster(client, patience=3.0)

    def progress(what: str, done: int, total: int) -> None:
        for worker in machines.workers:
            worker.kill()

    with pytest.raises(ClusterError, match=r"no worker is left at tcp://127\.0\.0\.1:\d+\. Start workers"):
        asked(packed, executor=cluster, progress=progress)


def test_new_workers_take_over(client: Any, machines: Machines, packed: Path) -> None:
    here = asked(packed, threads=1)
    gone: list[bool] = []

    def progress(what: str, done: int, total: int) -> None:
        if not gone:
            for worker in machines.workers:
                worker.kill()
            machines.workers.append(machines.worker())
            gone.append(True)

    assert asked(packed, executor=client.get_executor(), progress=progress) == here


def test_no_worker_and_no_scheduler_are_one_error_each(tmp_path: Path, packed: Path) -> None:
    lonely = Machines(tmp_path, n_workers=0)
    try:
        with pytest.raises(ClusterError, match="there is no worker at tcp://"):
            Cluster.connect(lonely.address, patience=1.0)
    finally:
        lonely.stop()
    there = command(packed, lonely)
    _, said = there.communicate(timeout=60)
    assert there.returncode == 1
    assert "no scheduler answers at tcp://127.0.0.1:" in said
    assert "Traceback" not in said


def test_a_worker_without_the_folder_is_one_error(client: Any, packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(packed.parent)  # where workers are not: what the path means depends on the process
    with pytest.raises(
        ClusterError, match=r"the worker tcp://\S+ cannot do the work\. /proc/self/cwd/study.pvx.*share"
    ):
        asked(Path("/proc/self/cwd/study.pvx"), executor=client.get_executor())


def test_other_versions_are_refused(machines: Machines, client: Any, tmp_path: Path, packed: Path) -> None:
    other = tmp_path / "other" / "numba-0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.1\n")
    cluster = Cluster.of(client)
    machines.workers.append(machines.worker(PYTHONPATH=os.pathsep.join([str(other.parent), *sys.path])))
    client.wait_for_workers(4, timeout=60)
    with pytest.raises(ClusterError, match=r"the worker tcp://\S+ has plurivox .*, numba 0\.1, but this machine has"):
        Cluster(client)
    with pytest.raises(ClusterError, match=r"numba 0\.1, but this machine has"):  # one that came later
        in_batches(Square(), 200, Running(executor=cluster))


def test_what_kills_its_worker_is_not_tried_for_ever(client: Any, machines: Machines) -> None:
    machines.workers += [machines.worker() for _ in range(3)]
    client.wait_for_workers(6, timeout=60)
    with pytest.raises(ClusterError, match="lost with several workers, one after the other"):
        in_batches(Deadly(), 1, Running(executor=Cluster.of(client)))


def test_workers_of_this_machine() -> None:
    with Cluster.local(2) as cluster:
        assert in_batches(Square(), 5, Running(executor=cluster), batch=2) == [[0, 1], [4, 9], [16]]
        assert (cluster.n_workers, cluster.submit(pow, 2, 5).result(timeout=60)) == (2, 32)


class Foreign(Executor):
    """An executor that nothing is known about but that what it is given is pickled."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        import pickle

        fn, args = pickle.loads(pickle.dumps((fn, args)))
        done: Future[Any] = Future()
        done.set_result(fn(*args))
        return done


def test_an_unknown_executor_gets_all_with_every_batch(packed: Path) -> None:
    assert asked(packed, executor=Foreign()) == asked(packed, threads=1)
