r"""
Which remedy, at which rate?
============================

Oversample, reweight, adjust the logits, move the threshold, collect more? And how much of it? This page audits a
long-tailed data set, makes a plan that forecasts the gain of each remedy, and then compares the remedies on the same
cross-validation folds.

The data are scikit-learn's digits, cut down to a tail from 150 examples to 6.
"""

import tempfile

import numpy as np
from sklearn.datasets import load_digits

import lopsided

images, labels = load_digits(return_X_y=True)
random = np.random.default_rng(0)
counts = np.round(150 * (6 / 150) ** (np.arange(10) / 9)).astype(int)
rows = np.concatenate([random.permutation(np.flatnonzero(labels == k))[:n] for k, n in enumerate(counts)])
features, classes = images[rows] / 16.0, labels[rows]
print("examples per class:", counts)

# %%
# What is wrong
# -------------
#
# The audit runs every check that the data allow and says what it skipped. Here it has features and labels, but no
# model.

audit = lopsided.audit(features, labels=classes, checks=["counts", "noise_ratios", "duplicates"])
for finding in audit.findings[:5]:
    print(f"{finding.level.value:8} {finding.message}")

# %%
# What could help
# ---------------
#
# The plan lists remedies with their parameters, most promising first. A forecast has an interval and a basis; a remedy
# without a forecast says why.

plan = lopsided.plan(features, labels=classes)
for remedy in plan.remedies:
    forecast = remedy.forecast
    gain = "no forecast" if forecast is None else f"{forecast.gain:+.3f} [{forecast.low:+.3f}, {forecast.high:+.3f}]"
    print(f"{remedy.name}: {gain}")

# %%
# What does help
# --------------
#
# The trial trains every arm on the same folds, so differences are paired. The intervals account for the overlap of the
# training sets, and the winner's interval also for the number of arms. If no arm is shown to be better than plain
# training, there is no winner.

with tempfile.TemporaryDirectory() as store:
    trial = lopsided.trial(features, labels=classes, folds=5, repeats=1, forecasts=False, store=store)
for arm in trial.arms:
    if arm.skipped:
        print(f"{arm.name:24} skipped: {arm.skipped}")
    elif arm is trial.arms[0]:  # plain training, which the others are compared with
        print(f"{arm.name:24} {trial.metric} {arm.metrics[trial.metric].estimate.value:.3f}")
    else:
        gain = arm.metrics[arm.read_in].gain
        print(f"{arm.name:24} {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] in {arm.read_in}")
print(trial.sentence())

# %%
# Gains with their intervals:

trial.figures()[0]

# %%
# At which rate
# -------------
#
# A network with weight decay loses classes that a linear model keeps. Give the settings of your training run, and the
# forecast gives each class a rate at which it has more examples than a class needs. The multiplier here is the one that
# :doc:`will_my_tail_collapse` measured for a small network with a weight decay of 0.03. ``safety`` is the ratio of the
# examples that a class gets to those that it needs. Are higher rates better? Train that network at several rates and
# test it on the remaining digits.

from sklearn.neural_network import MLPClassifier

held_out = np.setdiff1d(np.arange(len(labels)), rows)
choices = {
    "as it is": {"rate": 1.0},
    "forecast, just above the need": {
        "rate": "forecast",
        "recipe": {"multiplier": 0.0167, "features": "relu", "safety": 1},
    },
    "forecast, twice the need": {"rate": "forecast", "recipe": {"multiplier": 0.0167, "features": "relu", "safety": 2}},
    "balanced": {"rate": "balanced"},
}
for name, choice in choices.items():
    sampler = lopsided.Oversampler(**choice, random_state=0)
    more, of_them = sampler.fit_resample(features, classes)
    network = MLPClassifier((64,), alpha=0.03 * len(of_them), solver="lbfgs", max_iter=2000, tol=1e-3, random_state=0)
    predicted = network.fit(more, of_them).predict(images[held_out] / 16.0)
    recall = np.array([np.mean(predicted[labels[held_out] == k] == k) for k in range(10)])
    print(f"{name}: {len(of_them)} examples an epoch, balanced {recall.mean():.3f}, worst class {recall.min():.2f}")

# %%
# ``Oversampler`` has the interface of imbalanced-learn. ``sample_indices_`` has the rows that it drew, for use in any
# training loop, and ``rates_`` says why:

chosen = lopsided.Oversampler(**choices["forecast, twice the need"], random_state=0)
chosen.fit_resample(features, classes)
print(chosen.rates_.why)
print("rates:", chosen.rates_.rates.round(2))
print("rows, the last copies:", chosen.sample_indices_[-5:])

# %%
# How to read it
# --------------
#
# With so few rare examples the intervals are wide, and several arms may be about equally good: the last line of the
# trial names them. The recommended one has the largest expected gain, and the trial states its chance of being worse
# than plain training. More examples would make the answer more certain.
#
# The forecast rate is the smallest at which the model keeps a class. A real network needs more: on these digits, a
# class with just more examples than it needs is still lost, classes with twice as many are only partly recovered, and
# full balance does far better, with three times as many examples per epoch. So use the forecast as a lower limit, and
# try higher rates. :doc:`/theory/layer-peeled` explains why oversampling and reweighting have the same optimum but
# different gradient noise, and :doc:`/theory/networks` what is known about trained networks.
