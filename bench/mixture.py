"""Speed of the mixture learner: against PyTorch autograd in the same run, and its own absolute figures."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from lopsided.core.mixture_spec import mixture_of, problem_of
from lopsided.core.seeds import generator
from lopsided.data.mixture import draw_sample
from lopsided.learners.teacher_student import training_set
from lopsided.learners.teacher_student_descent import descend
from lopsided.learners.teacher_student_newton import newton
from lopsided.learners.tensor_initialisation import tensor_start
from lopsided.theory.fisher_law import FisherLaw
from lopsided.worlds import mixture_lab as lab

STEP = 2.0


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows for `lopsided bench mixture`."""
    yield _descent(quick)
    yield _many_problems(quick)
    yield from _tensor(quick)
    yield _law()
    yield _figure_2(quick)


def _in_threads(work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """The compiled loops release the interpreter, so two threads share the cores."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(work, tasks))


def _problem(dimension: int, neurons: int, seed: int, means: tuple[float, float] = (1, -1)) -> Any:
    weights = generator(seed, "teacher").standard_normal((dimension, neurons))
    return problem_of(mixture_of([0.5, 0.5], means, [1, 1], dimension), weights)


def _descent(quick: bool) -> dict[str, Any]:
    """n = 10,000, d = 5, K = 3: compiled steps against autograd in float64, one thread each, in turn. Other work on
    the machine only adds to their processor times, so the least counts."""
    count, steps, turns = 10_000, 100, 10 if quick else 40
    problem = _problem(5, 3, 0)
    sample = draw_sample(problem, count, generator(0, "sample"))
    data = training_set(sample.features, sample.labels)
    start = problem.weights + 0.1
    descend(data, start, STEP, 2)  # compile

    def compiled() -> np.ndarray:
        return descend(data, start, STEP, steps).weights

    try:
        import torch
    except ImportError:
        return {"what": f"descent, {steps} steps", "seconds": _least([compiled], turns)[0], "note": "no PyTorch here"}
    torch.set_num_threads(1)
    x, y = torch.as_tensor(sample.features), torch.as_tensor(sample.labels)

    def autograd() -> np.ndarray:
        weights = torch.tensor(start, requires_grad=True)
        for _ in range(steps):
            chance = torch.sigmoid(x @ weights).mean(dim=1)
            loss = torch.nn.functional.binary_cross_entropy(chance, y)
            (slope,) = torch.autograd.grad(loss, weights)
            with torch.no_grad():
                weights -= STEP * slope
        return weights.detach().numpy()

    gap = float(np.abs(compiled() - autograd()).max())
    ours, peer = _least([compiled, autograd], turns)
    return {
        "what": f"descent, n={count:,}, d=5, K=3, {steps} steps, one thread",
        "seconds": ours,
        "peer": "PyTorch autograd, float64",
        "peer_seconds": peer,
        "note": f"processor time, the least of {turns} turns; iterates agree to {gap:.1e}",
    }


def _least(works: Sequence[Callable[[], Any]], turns: int) -> list[float]:
    """The least processor time of each, which take turns."""
    least = [np.inf] * len(works)
    for _ in range(turns):
        for place, work in enumerate(works):
            begin = time.process_time()
            work()
            least[place] = min(least[place], time.process_time() - begin)
    return least


def _best(work: Any, times: int = 3) -> tuple[float, Any]:
    least, answer = np.inf, None
    for _ in range(times):
        begin = time.perf_counter()
        answer = work()
        least = min(least, time.perf_counter() - begin)
    return least, answer


def _many_problems(quick: bool) -> dict[str, Any]:
    many, count = (40, 10_000) if quick else (400, 10_000)
    problems = []
    for seed in range(many):
        problem = _problem(5, 3, seed)
        sample = draw_sample(problem, count, generator(seed, "sample"))
        problems.append((training_set(sample.features, sample.labels), problem.weights))
    newton(*problems[0])
    begin = time.perf_counter()
    points = _in_threads(lambda problem: newton(*problem), problems)
    seconds = time.perf_counter() - begin
    found = sum(point.found for point in points)
    return {
        "what": f"{many} problems (n={count:,}, d=5, K=3) to their critical points, two threads",
        "seconds": seconds,
        "note": f"{found} strict minima, largest gradient {max(p.gradient_norm for p in points if p.found):.0e}",
    }


def _tensor(quick: bool) -> list[dict[str, Any]]:
    """Linear in n and in d: time at half of each beside the full size."""
    sizes = [(50_000, 50)] if quick else [(200_000, 50), (100_000, 50), (200_000, 25), (200_000, 100), (100_000, 200)]
    rows = []
    for count, dimension in sizes:
        problem = _problem(dimension, 2, 0, (-0.3, 0.0))
        sample = draw_sample(problem, count, generator(0, "sample"))
        seconds, answer = _best(
            lambda problem=problem, sample=sample: tensor_start(
                sample.features, sample.labels, problem.mixture, 2, generator(0, "parts")
            ),
            1,
        )
        rows.append(
            {
                "what": f"tensor start, n={count:,}, d={dimension}, K=2",
                "seconds": seconds,
                "note": f"own error estimate {answer.relative_error:.2f}",
            }
        )
    return rows


def _law() -> dict[str, Any]:
    problem = _problem(5, 3, 0)
    begin = time.perf_counter()
    forecast = FisherLaw(problem).forecast(10_000)
    return {
        "what": "Fisher law, d=5, K=3, two groups",
        "seconds": time.perf_counter() - begin,
        "note": f"{forecast.method}, relative error {forecast.relative_error:.0e}",
    }


def _figure_2(quick: bool) -> dict[str, Any]:
    """Fig 2's whole grid (d = 5..100 by 5, 15 n, 20 starts) for two of its 20 teachers, one per thread; and the share
    of the matrix products in it, at their speed in this run."""
    dimensions = range(5, 25, 5) if quick else range(5, 105, 5)
    counts = [10_000 * index for index in range(1, 4 if quick else 16)]
    teachers, starts, neurons, steps = 2, 20, 3, 6000

    def one(task: tuple[int, int]) -> int:
        seed, dimension = task
        problem = lab.drawn_teacher(lab.two_groups(dimension, (0.5, 0.5), (1, 0), (1, 1)), neurons, seed)
        ends = [lab.start_near(problem, seed, index) for index in range(starts)]
        path = lab.path_of_counts(problem, counts, seed)
        return sum(place.point.found and lab.linear_spread(place, ends, 8.0, steps).stable for place in path)

    tasks = [(seed, dimension) for dimension in reversed(dimensions) for seed in range(teachers)]
    one((0, 5))  # compile
    begin = time.perf_counter()
    found = _in_threads(one, tasks)
    seconds = time.perf_counter() - begin
    # one Hessian by matrix products: K(K+1)/2 pairs of neurons, 2 d^2 operations per example
    work = teachers * sum(neurons * (neurons + 1) * float(d) ** 2 * n for d in dimensions for n in counts)
    speed = 2 * _weighted_product_speed(max(dimensions))
    return {
        "what": f"Fig 2, {len(dimensions) * len(counts)} cells, {teachers} teachers x {starts} starts, two threads",
        "seconds": seconds,
        "note": f"{sum(found)} of {len(tasks) * len(counts)} critical points found; one Hessian a cell and teacher "
        f"would take {work / speed:.1f} s at the {speed / 1e9:.0f} Gflop/s of two threads; the paper's 20 teachers "
        f"take {20 // teachers} times this, {seconds * (20 // teachers) / 60:.0f} minutes",
    }


def _weighted_product_speed(dimension: int) -> float:
    """Operations a second of the Hessian's float32 product on one thread, weighting included."""
    rows = generator(0, "gemm").standard_normal((dimension, 2048)).astype(np.float32)
    repeats = 1 + int(1e9 / (2 * dimension**2 * 2048))

    def products() -> None:
        for _ in range(repeats):
            (rows * rows[0]) @ rows.T

    seconds, _ = _best(products)
    return repeats * 2 * dimension**2 * 2048 / seconds
