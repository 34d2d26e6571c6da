"""Resampling indices and fitting remedies against the usual tools, in the same process on the same labels.

Ten million labels in 1000 classes of a long tail (a million when quick). The peers draw with replacement, so they do a
little less than we do: they leave out about a third of a class of rate 1, and we none.
"""

import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from lopsided.remedies.resampling import resampling_plan


def long_tail(examples, classes=1000):
    """Labels in random order, class sizes falling like 1/k."""
    shares = 1.0 / np.arange(1, classes + 1)
    labels = np.repeat(np.arange(classes), np.maximum(1, np.rint(examples * shares / shares.sum()).astype(int)))
    return np.random.default_rng(0).permutation(labels)


def best_of(function, repeats=2):
    """The shortest of a few runs, and the last answer."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        answer = function()
        times.append(time.perf_counter() - began)
    return min(times), answer


def moderate_rates(labels):
    """Half-way to balance but at most 2.5 copies: an epoch up to 2.5 times as long, with fractions."""
    counts = np.bincount(labels)
    return np.minimum(np.sqrt(counts.max() / counts), 2.5)


def against_weighted_random_sampler(labels):
    """One epoch's indices as an array, and as the Python numbers that a loader gets."""
    from torch.utils.data import WeightedRandomSampler

    import torch
    from lopsided.torch import OversamplingSampler

    rates = moderate_rates(labels)
    by_label = dict(enumerate(rates.tolist()))
    set_up, sampler = best_of(lambda: OversamplingSampler(labels, rate=by_label), 1)
    length = len(sampler)
    drawn, indices = best_of(lambda: sampler.epoch_indices(0))
    assert indices.size == length
    weights = torch.as_tensor(rates[labels])
    peer_drawn, _ = best_of(lambda: torch.multinomial(weights, length, replacement=True))
    peer = WeightedRandomSampler(weights, length)

    def consume(iterable):
        for _ in iterable:
            pass

    seconds, _ = best_of(lambda: consume(sampler), 1)
    peer_seconds, _ = best_of(lambda: consume(peer), 1)
    many = f"{labels.size:,} labels, {length:,} indices"
    return [
        {
            "what": f"set-up, {labels.size:,} labels",
            "seconds": set_up,
            "note": "labels checked and sorted by class, once",
        },
        {
            "what": f"indices of an epoch, {many}",
            "seconds": drawn,
            "peer": "torch.multinomial",
            "peer_seconds": peer_drawn,
            "note": "ours every example, shuffled; theirs with replacement",
        },
        {
            "what": f"a pass over the sampler, {many}",
            "seconds": seconds,
            "peer": "WeightedRandomSampler",
            "peer_seconds": peer_seconds,
            "note": "including Python numbers",
        },
    ]


def against_random_over_sampler(labels):
    """Balance by fit_resample on one column, and by the indices alone."""
    from imblearn.over_sampling import RandomOverSampler

    from lopsided.remedies import Oversampler

    features = np.zeros((labels.size, 1), dtype=np.float32)
    ours, _ = best_of(lambda: Oversampler(random_state=0).fit_resample(features, labels), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer, _ = best_of(lambda: RandomOverSampler(random_state=0).fit_resample(features, labels), 1)
    counts = np.bincount(labels)
    alone, _ = best_of(lambda: resampling_plan(labels, counts.max() / counts).indices(0, shuffle=False), 1)
    what = f"{labels.size:,} labels, {counts.size} classes"
    return [
        {
            "what": f"fit_resample to balance, {what}",
            "seconds": ours,
            "peer": "RandomOverSampler",
            "peer_seconds": peer,
            "note": f"one feature column; {int(counts.max()) * counts.size:,} rows",
        },
        {"what": f"the same, indices only, {what}", "seconds": alone, "note": "no copy of the features"},
    ]


def threshold_fit(examples, classes):
    """Threshold moving for balanced accuracy, with its cross-fitted score (six fits)."""
    from lopsided.remedies import ThresholdMover

    stream = np.random.default_rng(0)
    labels = long_tail(examples, classes)
    logits = stream.normal(size=(labels.size, classes))
    logits[np.arange(labels.size), labels] += 2 + np.log(np.bincount(labels))[labels] / 4
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    seconds, mover = best_of(lambda: ThresholdMover().fit(probabilities, labels), 1)
    fit = mover.fit_
    scores = ", ".join(f"{name} {score:.3f}" for name, score in fit.candidates.items())
    note = f"balanced accuracy, cross-fitted: {scores}"
    return {"what": f"thresholds, n={labels.size:,}, K={classes}", "seconds": seconds, "note": note}


def run(quick):
    """One row after the other, on one thread."""
    with threadpool_limits(1):
        labels = long_tail(10**6 if quick else 10**7)
        yield from against_weighted_random_sampler(labels)
        yield from against_random_over_sampler(long_tail(10**5 if quick else 10**6, 20))
        yield threshold_fit(10**4, 10 if quick else 100)
