"""Hundreds of independent small problems at once: the compiled loops release the interpreter, so threads share the
cores."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lopsided.core.validation import FloatArray, check_count
from lopsided.learners.teacher_student import TrainingSet
from lopsided.learners.teacher_student_descent import Descent, descend
from lopsided.learners.teacher_student_newton import CriticalPoint, newton

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_all(work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int = 1) -> list[Result]:
    """Results in the order of the tasks; with one job no thread is started."""
    if check_count(jobs, "the number of jobs") == 1:
        return [work(task) for task in tasks]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(work, tasks))


def newton_all(
    problems: Sequence[tuple[TrainingSet, FloatArray]], *, tolerance: float = 1e-11, jobs: int = 1
) -> list[CriticalPoint]:
    """The critical point of every (data, start)."""
    return run_all(lambda problem: newton(problem[0], problem[1], tolerance=tolerance), problems, jobs)


def descend_all(
    data: TrainingSet, starts: Sequence[FloatArray], step: float, steps: int, *, jobs: int = 1
) -> list[Descent]:
    """Descent on the same data from many starts (the M = 20 starts of Fig 2)."""
    return run_all(lambda start: descend(data, start, step, steps), starts, jobs)
