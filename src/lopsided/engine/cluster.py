"""Runs tasks on a Dask cluster: workers compute, results travel back and are kept here, so no shared disk is needed.

Dask gives the tasks of a lost worker to the others; a task that lost several workers fails.
"""

import asyncio
import concurrent.futures
import contextlib
import itertools
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError, LopsidedError, MissingPackage
from lopsided.core.progress import Ended
from lopsided.engine.runner import Failures
from lopsided.engine.store import Result, Store
from lopsided.engine.task import Task
from lopsided.engine.work import Failure, WorkerSetup, settle_in, work

_CONNECT_SECONDS = 10
_WORKER_SECONDS = 60  # a cluster that is just starting; without any worker a run would wait for ever
_PARTS_AHEAD = 2  # parts of data a thread, so that none waits and few answers lie about
_IN_FLIGHT = 2000  # tasks the scheduler knows at once: enough for any cluster, little memory


class ClusterError(LopsidedError):
    """The cluster cannot be reached or was lost."""


@dataclass(frozen=True)
class Cluster:
    """Where the scheduler listens, and the certificates for a `tls://` address."""

    address: str
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None

    def __post_init__(self) -> None:
        if "://" not in self.address or ":" not in self.address.partition("://")[2]:
            raise InputError("a scheduler address", repr(self.address), "write for example tcp://192.0.2.7:8786")
        if self.encrypted and self.tls_ca is None:
            raise InputError("--tls-ca for a tls:// scheduler", "none", "name the authority's certificate")
        for option, path in (("--tls-ca", self.tls_ca), ("--tls-cert", self.tls_cert), ("--tls-key", self.tls_key)):
            if path is not None and not Path(path).is_file():
                raise InputError(f"an existing file for {option}", repr(path))

    @property
    def encrypted(self) -> bool:
        """Whether the address asks for TLS."""
        return self.address.startswith("tls://")


def run_on_cluster(
    tasks: Sequence[Task], store: Store, *, cluster: Cluster, data: str | None, progress: Ended
) -> Failures:
    """Run `tasks` on the cluster and keep their results in `store`; returns what failed."""
    with _quiet(), _connect(cluster) as client:
        with _talking(client):
            _wait_for_a_worker(client, cluster)
        return _run(client, tasks, store, WorkerSetup(store=None, data=data), progress)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask logs tracebacks when a connection is lost; here that becomes one sentence."""
    try:
        import distributed  # noqa: F401 - sets up its loggers when it is first imported
    except ImportError:
        raise MissingPackage("distributed", "--cluster", "cluster") from None
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.utils")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _connect(cluster: Cluster) -> Any:
    from distributed import Client
    from distributed.security import Security

    files = {"tls_ca_file": cluster.tls_ca, "tls_client_cert": cluster.tls_cert, "tls_client_key": cluster.tls_key}
    security = Security(**files, require_encryption=True) if cluster.encrypted else Security()
    try:
        return Client(cluster.address, security=security, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ClusterError(
            f"Expected a Dask scheduler at {cluster.address}, but it did not answer ({reason}); start one with: dask "
            "scheduler."
        ) from None


def _wait_for_a_worker(client: Any, cluster: Cluster) -> None:
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError:
        raise ClusterError(
            f"Expected workers at {cluster.address}, but none joined within {_WORKER_SECONDS} seconds; start one with: "
            f"dask worker {cluster.address}."
        ) from None


@contextlib.contextmanager
def _talking(client: Any) -> Iterator[None]:
    """A lost scheduler shows as a broken stream, as a future cancelled between two questions about it, or as a client
    that was closed behind our back; all are one sentence."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        lost = isinstance(error, (OSError, concurrent.futures.CancelledError, asyncio.CancelledError))
        if isinstance(error, LopsidedError) or not (lost or client.status != "running"):
            raise
        raise ClusterError(
            "The connection to the Dask scheduler was lost; run the same command again to resume."
        ) from None


@contextlib.contextmanager
def mapping_on(cluster: "str | Cluster") -> Iterator[Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]]:
    """A function that applies another to every item on the workers and gives the results in the order of the items.

    Another worker repeats the work of a lost one; an InputError on a worker is raised here unchanged.
    """
    if not isinstance(cluster, (str, Cluster)):
        raise InputError("the address of a scheduler", f"a {type(cluster).__name__}", "write tcp://192.0.2.7:8786")
    known = Cluster(cluster) if isinstance(cluster, str) else cluster
    with _quiet(), _connect(known) as client:
        with _talking(client):
            _wait_for_a_worker(client, known)
        yield partial(_mapped, client)


def _mapped(client: Any, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    waiting, running = iter(items), deque[Any]()
    with _talking(client):
        at_once = _PARTS_AHEAD * max(sum(client.nthreads().values()), 1)
    while True:
        for item in itertools.islice(waiting, at_once - len(running)):
            with _talking(client):
                running.append(client.submit(_settled, function, item, pure=False))
        if not running:
            return
        yield _answer(client, running.popleft())


def _settled(function: Callable[[Any], Any], item: Any) -> Any:
    """On a worker: one thread, as here, so that sums round alike."""
    settle_in()
    return function(item)


def _answer(client: Any, future: Any) -> Any:
    from distributed import KilledWorker

    with _talking(client):
        error = future.exception()
        if error is None:
            return future.result()
    if isinstance(error, LopsidedError):
        raise error
    if isinstance(error, KilledWorker):
        raise ClusterError(
            "Expected the Dask workers to read their parts, but one part repeatedly lost its workers (out of memory?); "
            "give them more memory."
        )
    if isinstance(error, FileNotFoundError):
        raise ClusterError(f"Expected the workers to see the same files, but got: {error}.")
    words = " ".join(f"{type(error).__name__}: {error}".split())
    raise ClusterError(f"A Dask worker failed ({words}).")


def _run(client: Any, tasks: Sequence[Task], store: Store, setup: WorkerSetup, progress: Ended) -> Failures:
    from distributed import as_completed

    failures: Failures = {}
    waiting = iter(tasks)
    known: dict[str, Task] = {}  # by the future's key

    def submit(task: Task) -> Any:
        # Impure: a fresh name for every run, so that a scheduler never answers from an earlier version of the code.
        future = client.submit(work, task, setup, pure=False)
        known[future.key] = task
        return future

    with _talking(client):
        first = [submit(task) for _, task in zip(range(_IN_FLIGHT), waiting, strict=False)]
        ended = as_completed(first, loop=client.loop)
    for future in ended:
        task = known.pop(future.key)
        with _talking(client):
            outcome = _outcome(future)
        if isinstance(outcome, Result):
            store.save(task, outcome)
        else:
            failures[task.key] = outcome
        progress(1)
        following = next(waiting, None)
        if following is not None:
            with _talking(client):
                ended.add(submit(following))
    return failures


def _outcome(future: Any) -> Result | Failure:
    from distributed import KilledWorker

    error = future.exception()
    if isinstance(error, KilledWorker):
        return Failure("Its Dask workers died repeatedly (out of memory?); see their logs.", str(error))
    if error is not None:
        return Failure(f"{type(error).__name__} on a Dask worker: {' '.join(str(error).split())}", repr(error))
    outcome: Result | Failure | None = future.result()[1]  # raises where the scheduler was lost
    if outcome is None:
        remedy = "install the same lopsided everywhere"
        raise ClusterError(f"Expected numbers from the Dask worker, but got none; {remedy}.")
    return outcome
