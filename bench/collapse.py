"""The Layer-Peeled Model: our solvers against the paper's way (cvxpy on the SDP (15) with SCS at its defaults).

Every peer runs in the same process, on one thread, on the same problem; times are processor times. The peer's gap is
measured with our certificate after scaling its answer into the nuclear-norm ball.
"""

import csv
import math
import os
import subprocess
import sys
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from lopsided.theory.collapse import collapse

ENERGIES = {"feature_energy": 5.0, "weight_energy": 1.0}


def exponential_profile(classes, largest, smallest):
    """The usual long tail: sizes fall geometrically from `largest` to `smallest`."""
    return [int(largest * (smallest / largest) ** (k / (classes - 1))) for k in range(classes)]


def zipf_profile(classes):
    """A power law in whole examples: a few hundred distinct sizes however many classes there are."""
    return [max(1, int(5000 * (k + 1) ** -0.6)) for k in range(classes)]


def lognormal_profile(classes):
    """Whole sizes of a lognormal law, as those of ImageNet-21k: 5,000 classes have some 800 distinct ones."""
    return np.maximum(np.round(np.exp(np.random.default_rng(0).normal(5.3, 1.15, classes))), 1.0)


def timed(function, repeats):
    """The least processor time of `repeats` calls, to which other work on the machine only adds; the last answer."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        answer = function()
        times.append(time.process_time() - began)
    return min(times), answer


def paper_script(counts):
    """Program (15) in cvxpy, default solver for it (SCS): seconds, and the relative gap of its logits."""
    import cvxpy as cp

    counts = np.asarray(counts, dtype=float)
    k = len(counts)
    weights = counts / counts.sum()
    began = time.process_time()
    x = cp.Variable((2 * k, 2 * k), PSD=True)
    logits = x[k:, :k]
    loss = sum(weights[j] * (cp.log_sum_exp(logits[:, j]) - logits[j, j]) for j in range(k))
    held = [cp.trace(x[:k, :k]) <= k * ENERGIES["feature_energy"], cp.trace(x[k:, k:]) <= k * ENERGIES["weight_energy"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cp.Problem(cp.Minimize(loss), held).solve(solver=cp.SCS)
    seconds = time.process_time() - began
    return seconds, relative_gap(np.asarray(logits.value), weights, k * math.sqrt(5.0))


def relative_gap(z, weights, tau):
    """gap(Z) / f(Z) of full logits, from the definition."""
    z = z - z.mean(axis=0)
    z = z * min(1.0, tau / np.linalg.svd(z, compute_uv=False).sum())
    shifted = np.exp(z - z.max(axis=0))
    masses = shifted / shifted.sum(axis=0)
    loss = float(-(weights * np.log(np.diag(masses))).sum())
    gradient = weights * (masses - np.eye(len(weights)))
    return (float(np.vdot(gradient, z)) + tau * float(np.linalg.norm(gradient, 2))) / loss


def against_the_paper(what, counts, repeats):
    """One row: ours and the paper's script on the same counts."""
    seconds, forecast = timed(lambda: collapse(counts, **ENERGIES), repeats)
    peer_seconds, peer_gap = min(paper_script(counts) for _ in range(5 if len(counts) <= 20 else 1))
    return {
        "what": what,
        "seconds": seconds,
        "peer": "cvxpy SCS",
        "peer_seconds": peer_seconds,
        "gap": forecast.relative_gap,
        "peer_gap": peer_gap,
        "note": f"gap {forecast.relative_gap:.0e} against {peer_gap:.0e}",
    }


def alone(what, counts, **options):
    """One row without a peer: seconds and gap."""
    seconds, forecast = timed(lambda: collapse(counts, **ENERGIES, **options), 1)
    sizes = len(set(counts)) if isinstance(counts, list) else len(np.unique(counts))
    return {
        "what": what,
        "seconds": seconds,
        "gap": forecast.relative_gap,
        "note": f"gap {forecast.relative_gap:.0e}, {sizes} distinct sizes",
    }


def in_a_process_of_its_own(classes):
    """K classes with few distinct sizes, with the peak memory of the whole process."""
    code = (
        "import resource, runpy, sys\n"
        f"b = runpy.run_path({__file__!r})\n"
        f"row = b['alone']('', b['zipf_profile']({classes}))\n"
        "print(row['seconds'], row['gap'], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    seconds, gap, kilobytes = (float(word) for word in out.split())
    sizes = len(set(zipf_profile(classes)))
    return {
        "what": f"K={classes}, power law",
        "seconds": seconds,
        "gap": gap,
        "note": f"gap {gap:.0e}, {sizes} distinct sizes, peak memory {kilobytes / 1e6:.2f} GB",
    }


def first_call():
    """Two sizes, in a process that has imported the package and called nothing yet; the least of a few processes."""
    code = (
        "import time\n"
        "from lopsided import collapse\n"
        "began = time.process_time()\n"
        "found = collapse('5000*5,50*5', feature_energy=5, weight_energy=1)\n"
        "print(time.process_time() - began, found.relative_gap)\n"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    seconds, gap = min(tuple(float(word) for word in run.stdout.split()) for run in runs)
    return {"what": "two sizes, K=10, first call in a process", "seconds": seconds, "note": f"gap {gap:.0e}"}


def growth(sizes):
    """Seconds over K for the exponential profile, and the exponent of their growth."""
    seconds = [alone("", exponential_profile(k, 1280, 5))["seconds"] for k in sizes]
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    steps = ", ".join(f"K={k}: {s:.3g} s" for k, s in zip(sizes, seconds, strict=True))
    return {"what": "growth over K, 1280 to 5 examples", "note": f"{steps}; about K^{exponent:.1f}"}


def run(quick):
    """One row after the other; `quick` leaves out the largest problems and the slowest peer."""
    with threadpool_limits(1):
        two = "5000*5,50*5"
        collapse(two, **ENERGIES)  # load everything once
        yield against_the_paper("two sizes, K=10", np.repeat([5000.0, 50.0], 5), 100)
        yield first_call()
        long_tail = exponential_profile(100, 500, 5)
        if quick:
            yield against_the_paper("long tail, K=20", exponential_profile(20, 500, 5), 5)
            yield alone("CIFAR-100-LT, K=100", long_tail)
        else:
            yield against_the_paper("CIFAR-100-LT, K=100", long_tail, 5)
        yield places() if "LOPSIDED_DATA" in os.environ else {"what": "Places-LT", "note": "LOPSIDED_DATA is not set"}
        if not quick:
            yield alone("ImageNet-LT-like, K=1000, 1280 to 5", exponential_profile(1000, 1280, 5))
            for classes in (5000, 21_841):
                yield alone(f"K={classes:,}, lognormal sizes, gap of 1e-6", lognormal_profile(classes), tolerance=1e-6)
            yield growth([50, 100, 200, 400])
            yield in_a_process_of_its_own(8000)
        million = np.round(np.random.default_rng(0).pareto(1.2, 10**6) * 10) + 1
        yield alone("ReLU features, a million classes", million, features="relu")


def places():
    """Places-LT from its file of counts."""
    with open(os.path.join(os.environ["LOPSIDED_DATA"], "long-tail-counts", "places_lt.csv"), newline="") as lines:
        counts = [int(row["n_train"]) for row in csv.DictReader(lines)]
    return alone("Places-LT, K=365", counts)
