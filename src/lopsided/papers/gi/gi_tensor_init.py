"""gi-tensor-init: the tensor start is near W*, and descent from it converges; a far start does not (Li et al. 2022,
Section B, Fig 10)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Panel
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Verdict, decided
from lopsided.papers.gi import mixture_lab as lab

STARTS = ("tensor", "near", "far")


def measure(settings: Settings, seed: int) -> Numbers:
    """Relative error of the start, and descent from three starts towards the critical point nearest to W*."""
    from lopsided.core.mixture_spec import problem_of
    from lopsided.core.seeds import generator
    from lopsided.learners.neuron_matching import match_neurons
    from lopsided.learners.teacher_student_descent import descend
    from lopsided.learners.tensor_initialisation import tensor_start

    size, neurons = settings["d"], settings["K"]
    mixture = lab.two_groups(size, (0.5, 0.5), (-0.3, 0.0), (1, 1))
    source = generator(seed, "teacher", settings["reading"])
    if settings["reading"] == "paper":
        weights = source.uniform(-0.1, 0.1, (size, neurons))
    else:
        # Orthogonal neurons of length 2: far enough from zero and from each other for Q_3 to see both.
        weights = 2.0 * np.linalg.qr(source.standard_normal((size, neurons)))[0]
    problem = problem_of(mixture, weights)
    data, sample = lab.drawn_data(problem, settings["n"], seed)
    answer = tensor_start(sample.features, sample.labels, mixture, neurons, generator(seed, "parts"))
    other = tensor_start(sample.features, sample.labels, mixture, neurons, generator(seed, "parts"), subspace="paper")
    point = lab.nearest_critical_point(problem, data)
    starts = {
        "tensor": match_neurons(answer.weights, weights).weights,
        "near": weights + generator(seed, "near").uniform(-0.1, 0.1, weights.shape),
        "far": 5.0 * generator(seed, "far").standard_normal(weights.shape),
    }
    length = float(np.linalg.norm(weights))
    numbers: dict[str, Any] = {
        "relative_error": match_neurons(answer.weights, weights).relative,
        "own_estimate": answer.relative_error,
        "identifiable": answer.identifiable,
        "paper_subspace_error": match_neurons(other.weights, weights).relative,
        "critical_error": lab.matched_error(point.weights, problem)[1] if point.found else None,
    }
    steps = settings["steps"]
    every = max(1, steps // 30)
    for word, start in starts.items():
        run = descend(data, start, settings["step"], steps, record_every=every)
        assert run.trajectory is not None
        path = [match_neurons(w, point.weights).distance / length for w in run.trajectory]
        numbers[word] = path
        numbers[f"{word} end"] = path[-1]
    numbers["recorded"] = [every * index for index in range(len(numbers["tensor"]))]
    return numbers


def judge(rows: Sequence[Row]) -> Verdict:
    """Near start, convergence as from the local start, failure from afar; apart for each reading."""
    numbers: dict[str, Any] = {}
    passed, found = [], []
    for reading in sorted({row.settings["reading"] for row in rows}):
        chosen = [row.numbers for row in rows if row.settings["reading"] == reading]

        def middle(key: str, own: list[Numbers] = chosen) -> float:
            return float(np.median([entry[key] for entry in own]))

        error, ends = middle("relative_error"), {word: middle(f"{word} end") for word in STARTS}
        parts = {
            "start is near": error <= 0.4,
            "converges as from near": ends["tensor"] <= max(2 * ends["near"], 0.05),
            "far start fails": ends["far"] > 10 * max(ends["near"], 1e-3),
        }
        numbers[reading] = {
            "median_relative_error": error,
            "median_own_estimate": middle("own_estimate"),
            "median_error_with_paper_subspace": middle("paper_subspace_error"),
            "share_called_identifiable": float(np.mean([entry["identifiable"] for entry in chosen])),
            "median_end_distance": ends,
            "parts": parts,
        }
        passed += list(parts.values())
        found.append(
            f"{reading}: start at relative error {error:.2f}, descent ends at {ends['tensor']:.2g} (tensor), "
            f"{ends['near']:.2g} (near), {ends['far']:.2g} (far)"
        )
    return Verdict(decided(passed), "; ".join(found), numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Median paths of descent from the three starts."""
    panels = []
    for reading in sorted({row.settings["reading"] for row in rows}):
        chosen = [row for row in rows if row.settings["reading"] == reading]
        panels.append(
            Panel(
                f"Reading: {reading}",
                "descent step",
                "distance to the critical point / |W*|",
                [
                    Line(
                        chosen[0].numbers["recorded"],
                        np.median([row.numbers[word] for row in chosen], axis=0).tolist(),
                        f"{word} start",
                    )
                    for word in STARTS
                ],
                y_log=True,
            )
        )
    return Figure("Descent from a tensor start, a near start and a far start", panels, "Medians over teachers.")


CLAIM = Claim(
    id="gi-tensor-init",
    rule="per reading, on medians: the start's relative error is at most 0.4; descent from it ends within twice the "
    "distance of the near start (or 0.05); from afar it ends ten times farther; holds if all do, partly if at "
    "least half",
    quick=Runs(
        [
            {"reading": "identifiable", "d": 6, "K": 2, "n": 40_000, "step": 8.0, "steps": 400},
            {"reading": "paper", "d": 20, "K": 2, "n": 20_000, "step": 8.0, "steps": 400},
        ],
        tuple(range(3)),
    ),
    paper=Runs(
        [
            {"reading": "identifiable", "d": 10, "K": 2, "n": 200_000, "step": 8.0, "steps": 600},
            {"reading": "paper", "d": 50, "K": 2, "n": 200_000, "step": 10.0, "steps": 600},
        ],
        tuple(range(5)),
    ),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={
        "paper": "W* uniform on [-0.1, 0.1], where the data hardly tell the two neurons apart",
        "identifiable": "orthogonal neurons of length 2",
    },
)
