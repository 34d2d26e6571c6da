r"""
Will my tail collapse?
======================

You have class counts with a long tail and a weight decay. Before you train, you want to know which classes the
network will fail to distinguish. This page makes that forecast, then trains a network on real digits and compares.

The data are scikit-learn's handwritten digits, which come with the package: ten classes, cut down to a tail from 120
examples to 3.
"""

import numpy as np
from sklearn.datasets import load_digits

import lopsided

images, labels = load_digits(return_X_y=True)
images = images / 16.0
counts = np.round(120 * (3 / 120) ** (np.arange(10) / 9)).astype(int)
print("examples per class:", counts)

# %%
# The forecast
# ------------
#
# The Layer-Peeled Model keeps the last layer of a network and lets its features vary freely. In its penalised form, the
# weight decay on the classifier and the features is a multiplier :math:`\lambda`, and a class needs more than
# :math:`\lambda N` examples. ``features="relu"`` uses nonnegative features, as in a ReLU network. The feature decay is
# not known before training, so this first forecast sets it equal to the weight decay.

weight_decay = 0.03
forecast = lopsided.collapse(counts, weight_decay=weight_decay, features="relu")
print(f"a class needs {forecast.count_needed:.1f} examples; forecast to collapse: {forecast.collapsed}")
print(f"certified: the objective is within {forecast.relative_gap:.0e} (relative) of the optimum")

# %%
# Train and compare
# -----------------
#
# The network has one hidden layer and is trained with the same weight decay until it converges. The other digits are
# held out.

from sklearn.neural_network import MLPClassifier

random = np.random.default_rng(0)
shuffled = [random.permutation(np.flatnonzero(labels == k)) for k in range(10)]
train = np.concatenate([rows[:count] for rows, count in zip(shuffled, counts, strict=True)])
test = np.concatenate([rows[120:] for rows in shuffled])

# scikit-learn divides alpha by the number of examples; times it, alpha is the weight decay itself.
network = MLPClassifier((64,), alpha=weight_decay * len(train), solver="lbfgs", max_iter=2000, random_state=0)
network.fit(images[train], labels[train])
predicted = network.predict(images[test])
recall = np.array([np.mean(predicted[labels[test] == k] == k) for k in range(10)])
print("recall per class:", np.round(recall, 2))
print("recalled in fewer than one case of ten:", np.flatnonzero(recall < 0.1).tolist())

# %%
# One run sharpens the forecast
# -----------------------------
#
# In a trained network, the multiplier is :math:`\lambda = wd \sqrt{E_W / E_H}`. The energies :math:`E_W` of the
# classifier and :math:`E_H` of the centred class means are measured by ``neural_collapse`` from features, labels and
# weights.

from lopsided.measure.neural_collapse import neural_collapse

features = np.maximum(images[train] @ network.coefs_[0] + network.intercepts_[0], 0.0)
measured = neural_collapse(features, labels[train], network.coefs_[1].T, network.intercepts_[1])
multiplier = weight_decay * np.sqrt(measured.weight_energy / measured.centred_mean_energy)
sharper = lopsided.collapse(counts, multiplier=multiplier, features="relu")
print(f"multiplier {multiplier:.4f}; a class needs {sharper.count_needed:.1f} examples; collapsed: {sharper.collapsed}")

# %%
# Plot recall against the number of examples, with both forecasts of the number that a class needs:

from lopsided.core.figure import Figure, Line, Mark, Panel

panel = Panel(
    "Recall on held-out digits",
    "training examples in the class",
    "share recognised",
    [Line(counts.tolist(), recall.tolist(), "recall", markers=True)],
    [
        Mark(forecast.count_needed, "needed, before training"),
        Mark(sharper.count_needed, "needed, with measured energies"),
    ],
    x_log=True,
    y_range=(-0.03, 1.05),
)
Figure("Ten digits, 120 down to 3 examples", [panel])

# %%
# What it would take
# ------------------
#
# ``plan=True`` answers the inverse questions: oversampling rates per class, examples to collect, and the weight decay
# at which no class collapses.

planned = lopsided.collapse(counts, multiplier=multiplier, features="relu", plan=True).plan
print("oversampling rates:", np.round(planned.oversampling.rates, 2))
print("examples to collect per class:", planned.collection.extra)
print(f"largest multiplier without collapse: {planned.safe_multiplier:.4f}")

# %%
# A hundred classes
# -----------------
#
# Here is the same forecast for the usual CIFAR-100 long tail (500 down to 5 examples), with the energies of the paper's
# figures. It needs only the counts, no images.

tail = [int(500 * 0.01 ** (k / 99)) for k in range(100)]
hundred = lopsided.collapse(tail, feature_energy=5, weight_energy=1)
print(f"a class needs {hundred.count_needed:.2f} examples: {len(hundred.collapsed)} of 100 classes collapse")
print(f"mean cosine among them: {hundred.collapsed_cosine:.4f}; solved in {hundred.seconds:.2f} s")

# %%
# How far to trust it
# -------------------
#
# One weight decay is only one example. Train the same network with two others, each with a forecast from its own
# measured energies:

for decay in (0.01, 0.1):
    other = MLPClassifier((64,), alpha=decay * len(train), solver="lbfgs", max_iter=2000, random_state=0)
    other.fit(images[train], labels[train])
    hidden = np.maximum(images[train] @ other.coefs_[0] + other.intercepts_[0], 0.0)
    layer = neural_collapse(hidden, labels[train], other.coefs_[1].T, other.intercepts_[1])
    need = lopsided.collapse(
        counts, multiplier=decay * np.sqrt(layer.weight_energy / layer.centred_mean_energy), features="relu"
    )
    found = other.predict(images[test])
    lost = [k for k in range(10) if np.mean(found[labels[test] == k] == k) < 0.1]
    print(f"weight decay {decay}: forecast {need.collapsed}, lost {lost}")

# %%
# The model has no within-class variation, no shared features and no training dynamics: it gives the optimum of an ideal
# network. Real networks lose classes in the order of their counts, often earlier than the model says.
# :doc:`/theory/networks` says what is known about the difference, and :ref:`claim lp-any-sizes <claim-lp-any-sizes>`
# what was checked.
