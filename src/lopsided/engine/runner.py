"""Runs tasks on this machine: joblib's processes, one thread each, every finished task kept before the next begins.

joblib groups short tasks into batches and grows the batch until one lasts a fraction of a second, so that ten thousand
trivial tasks cost little; the worker writes each result itself, so a kill loses at most the task at hand. When the
system kills a worker, the missing tasks run again name by name; only a name that loses its worker `_LOSSES_ALLOWED`
times fails.
"""

import os
import warnings
from collections.abc import Iterable, Sequence

from lopsided.core.progress import Ended
from lopsided.core.validation import check_count
from lopsided.engine.store import Store
from lopsided.engine.task import Task
from lopsided.engine.threads import one_thread
from lopsided.engine.work import Failure, WorkerSetup, attempt, work

Failures = dict[str, Failure]  # by the task's key

_LOSSES_ALLOWED = 3  # a worker lost once may be someone else's memory; thrice under one name is its own


def cores() -> int:
    """How many processes this machine can run at once (containers and affinity respected)."""
    from joblib import cpu_count

    return int(cpu_count())


def run_here(tasks: Sequence[Task], store: Store, *, jobs: int | None = None, progress: Ended) -> Failures:
    """Run `tasks` and keep their results in `store`; returns what failed."""
    wanted = min(check_count(cores() if jobs is None else jobs, "--jobs"), max(len(tasks), 1))
    if wanted == 1:
        return _in_this_process(tasks, store, progress)
    return _in_processes(tasks, store, wanted, progress)


def _in_this_process(tasks: Iterable[Task], store: Store, progress: Ended) -> Failures:
    failures: Failures = {}
    with one_thread():
        for task in tasks:
            outcome = attempt(task, store.unfinished(task))
            if isinstance(outcome, Failure):
                failures[task.key] = outcome
            else:
                store.save(task, outcome)
            progress(1)
    return failures


def _in_processes(tasks: Sequence[Task], store: Store, jobs: int, progress: Ended) -> Failures:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    failures: Failures = {}
    waiting = {task.key: task for task in tasks}
    try:
        _pool(waiting, store, jobs, failures, progress)
    except TerminatedWorkerError:
        _drop_kept(waiting, store, progress)
        for name in dict.fromkeys(task.name for task in waiting.values()):
            _alone(name, waiting, store, jobs, failures, progress)
    return failures


def _alone(name: str, waiting: dict[str, Task], store: Store, jobs: int, failures: Failures, progress: Ended) -> None:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    own = {key: task for key, task in waiting.items() if task.name == name}
    for _ in range(_LOSSES_ALLOWED - 1):
        try:
            _pool(own, store, jobs, failures, progress)
            return
        except TerminatedWorkerError:
            _drop_kept(own, store, progress)
    lost = Failure(
        f"The system killed its worker process {_LOSSES_ALLOWED} times (out of memory?); try --jobs 1.",
        "no traceback: the process was killed",
    )
    failures.update(dict.fromkeys(own, lost))
    progress(len(own))


def _pool(waiting: dict[str, Task], store: Store, jobs: int, failures: Failures, progress: Ended) -> None:
    """Run what waits; a task leaves `waiting` when its end is known."""
    from joblib import Parallel, delayed, parallel_config

    _quieten_resource_tracker()
    setup = WorkerSetup(store=str(store.folder), data=None, run=os.getpid())  # processes here inherit the environment
    with parallel_config(backend="loky", inner_max_num_threads=1), warnings.catch_warnings():
        # loky replaces a worker whose memory has grown, which tasks of all sizes do; the run goes on unharmed.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        ended = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(work)(task, setup) for task in list(waiting.values())
        )
        for key, outcome in ended:
            if isinstance(outcome, Failure):
                failures[key] = outcome
            del waiting[key]
            progress(1)


def _quieten_resource_tracker() -> None:
    """loky's tracker process outlives an interrupted run and prints what it tidies up; that is nobody's news."""
    quiet = "ignore:resource_tracker:UserWarning"
    asked = os.environ.get("PYTHONWARNINGS", "")
    if quiet not in asked:
        os.environ["PYTHONWARNINGS"] = f"{asked},{quiet}" if asked else quiet


def _drop_kept(waiting: dict[str, Task], store: Store, progress: Ended) -> None:
    """After a loss: forget the tasks whose results were written before it."""
    kept = [key for key, task in waiting.items() if store.load(task) is not None]
    for key in kept:
        del waiting[key]
    progress(len(kept))
