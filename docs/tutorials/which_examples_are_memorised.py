r"""
Which examples are memorised?
=============================

Some training examples are learned from the others; some are learned only because they are in the training set. This
page ranks every digit by its influence score, which needs no training, then measures memorisation itself by training
with and without each digit, and asks how well the cheap score predicts the expensive measurement.

The data are scikit-learn's digits, 1797 pictures of 8 x 8 pixels, which come with the package.
"""

import numpy as np
from sklearn.datasets import load_digits

import lopsided

digits = load_digits()
images, labels = digits.data / 16.0, digits.target

# %%
# Scores without training
# -----------------------
#
# The score of an example is its contribution to :math:`\|\Sigma_k\|_F^2`, the squared norm of the covariance of its
# class (eq 10 of Xu and Chen 2025): the difference between the norm with and without the example. A closed form gives
# all scores at once.

result = lopsided.score(images, labels)
scores = result.influence.scores
for entry in result.classes[:3]:
    print(f"digit {entry.label}: {entry.count} examples, scores {entry.lowest:.2e} to {entry.highest:.2e}")
print(f"all {len(scores)} scores in {result.seconds:.3f} s")

# %%
# The pictures at both ends:

from lopsided.core.figure import Figure, Panel, Pictures


def ends(order: int, title: str) -> Panel:
    """Eight pictures of every digit, highest first (order -1) or lowest first (order 1)."""
    rows = []
    for digit in range(10):
        members = np.flatnonzero(labels == digit)
        chosen = members[np.argsort(order * scores[members])][:8]
        rows.append([(16 * digits.images[i]).clip(0, 255).tolist() for i in chosen])
    return Panel(title, "place", "digit", [Pictures(rows, [str(k) for k in range(10)], list("12345678"), title)])


Figure("Influence scores of the digits", [ends(-1, "Highest"), ends(1, "Lowest")])

# %%
# Memorisation itself
# -------------------
#
# The memorisation of an example is the chance that a model classifies it correctly if it was in the training set, minus
# the chance if it was not (Feldman 2020). The digits are cut into three parts ten times, and a model is trained without
# each part: every digit is left out ten times and used twenty times.

from sklearn.svm import SVC

random = np.random.default_rng(0)
trained = np.concatenate([random.permutation(len(labels)) % 3 != np.arange(3)[:, None] for _ in range(10)])
right = np.empty_like(trained)
for model, rows in enumerate(trained):
    classifier = SVC(C=10.0, gamma=0.02).fit(images[rows], labels[rows])
    right[model] = classifier.predict(images) == labels
inside = (right & trained).sum(axis=0) / trained.sum(axis=0)
outside = (right & ~trained).sum(axis=0) / (~trained).sum(axis=0)
memorised = inside - outside
print(f"learned from the others: {np.mean(memorised < 0.1):.1%}; memorised, above 1/2: {np.mean(memorised > 0.5):.1%}")

# %%
# The most memorised digits, with their labels:

most = np.argsort(-memorised)[:16]
rows = [[(16 * digits.images[i]).clip(0, 255).tolist() for i in most[part : part + 8]] for part in (0, 8)]
print("labels:", labels[most].tolist())
pictures = Pictures(rows, ["", ""], [""] * 8, "digits")
Figure("Memorised digits", [Panel("Right only when they are in the training set", "", "", [pictures])])

# %%
# Does the score find them?
# -------------------------
#
# In each class, compare the tenth of the examples with the highest scores with the tenth with the lowest.

from scipy.stats import spearmanr

rank = np.empty(len(labels))
for digit in range(10):
    members = np.flatnonzero(labels == digit)
    rank[members] = scores[members].argsort().argsort() / (len(members) - 1)
high, low, middle = rank >= 0.9, rank <= 0.1, (rank > 0.1) & (rank < 0.9)
for name, chosen in (("highest tenth", high), ("middle", middle), ("lowest tenth", low)):
    spread = memorised[chosen].std(ddof=1) / np.sqrt(chosen.sum())
    print(f"{name}: memorisation {memorised[chosen].mean():.3f} ± {spread:.3f}")
correlation = spearmanr(rank, memorised)
print(f"rank correlation of score and memorisation: {correlation.statistic:+.3f} (p = {correlation.pvalue:.1e})")

# %%
# What to take away
# -----------------
#
# On these digits, memorised examples are far more common among high scores than among low ones, so the score, which
# needs no training, tells you where to look first. But most examples with high scores are not memorised, and the
# correlation is weak. A high score means that an example lies far from its class mean, along the directions in which
# the class varies most. Whether that makes it hard depends on the data (on MNIST it does not: :ref:`claim bo-influence
# <claim-bo-influence>`). If you have to know, train with and without the example, as above.
# :doc:`/theory/benign-overfitting` has the theory.
