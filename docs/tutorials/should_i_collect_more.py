r"""
Should I collect more of this group?
====================================

Your model does worse on one group. Would a larger share of that group in the training set help it? Not always: a group
can be hard because its labels are noisy, and then more examples of it help little. This page uses the large-sample law
of maximum likelihood to forecast the effect of a share, first for groups that are known exactly, then for real people,
and checks the second forecast by training.

With ``LOPSIDED_DATA`` set, the real data are the Adult census (is the income above 50,000? groups: men and women).
Without it, the breast cancer data of scikit-learn are used, split into two groups by the size of the cells.
"""

import os
from pathlib import Path

import numpy as np

import lopsided

# %%
# Groups that are known
# ---------------------
#
# There are two groups of Gaussian inputs; the second is the minority, and its inputs have a larger variance. The
# network to be learned has three sigmoid neurons. With :math:`H_l` the Fisher information of group :math:`l` and
# :math:`H = \sum_l \lambda_l H_l`, the group's excess risk is :math:`\mathrm{tr}(H^{-1} H_l) / 2n`. The label entropy,
# which training cannot reduce, is reported separately.

groups = {
    "group": [
        {"fraction": 0.8, "mean": 0, "covariance": 1},
        {"fraction": 0.2, "mean": 0, "covariance": 4},
    ],
    "teacher": {"neurons": 3, "dimension": 5, "seed": 0},
}
forecast = lopsided.mixture(groups, samples=10_000)
for name, group in zip(("majority", "minority"), forecast.law.groups, strict=True):
    effect = group.fraction_effect
    print(
        f"{name}: entropy {group.label_entropy:.3f}, excess {group.excess_risk:.2e} nats; a larger share"
        f" {effect.effect} it ({effect.elasticity:+.2f} % per % of share)"
    )

# %%
# The same law over all shares of the minority:

from lopsided.worlds.mixture_sweep import sweep_figure

sweep_figure(forecast.problem, forecast.samples, 1, seed=0)

# %%
# Groups of people
# ----------------
#
# Six columns of the census: age, years of education, capital gain and loss (logarithms), hours per week, married.

from lopsided.data.mixture_table import LabelledTable


def adult(folder: Path) -> LabelledTable:
    """The Adult training file; nothing is downloaded."""
    import pyarrow as pa
    from pyarrow import csv

    options = csv.ReadOptions(column_names=[f"c{i}" for i in range(15)])
    with pa.input_stream(str(folder / "adult.data.gz"), compression="gzip") as stream:
        columns = csv.read_csv(stream, options).to_pydict()

    def equal(column: str, word: str) -> np.ndarray:
        return np.array([str(entry).strip() == word for entry in columns[column]])

    numbers = np.column_stack([np.array(columns[f"c{i}"], dtype=float) for i in (0, 4, 10, 11, 12)])
    numbers[:, 2:4] = np.log1p(numbers[:, 2:4])
    features = np.column_stack([numbers, equal("c5", "Married-civ-spouse")])
    names = ("age", "education", "gain", "loss", "hours", "married")
    income, women = equal("c14", ">50K").astype(np.int64), equal("c9", "Female").astype(np.int64)
    return LabelledTable(features, names, income, ("<=50K", ">50K"), women, ("men", "women"))


def breast_cancer() -> LabelledTable:
    """Four measurements of cell nuclei; groups: smooth and rough outlines."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    chosen = [0, 1, 4, 9]
    rough = (found.data[:, 8] > np.quantile(found.data[:, 8], 0.67)).astype(np.int64)
    names = tuple(str(found.feature_names[i]) for i in chosen)
    labels = found.target.astype(np.int64)
    return LabelledTable(found.data[:, chosen], names, labels, ("malignant", "benign"), rough, ("smooth", "rough"))


folder = Path(os.environ.get("LOPSIDED_DATA", "")) / "adult"
table = adult(folder) if (folder / "adult.data.gz").is_file() else breast_cancer()
minority = 1
share = float(np.mean(table.groups == minority))
print(f"{len(table.labels):,} examples; {table.group_names[minority]}: {share:.0%}")

# %%
# ``mixture_fit`` estimates one Gaussian per group and the network, then applies the law as if both were the truth.

samples = min(2000, len(table.labels) // 3)
fit = lopsided.mixture_fit(table, samples=samples, neurons=2)
for group in fit.facts()["groups"]:
    print(
        f"{group['name']}: entropy {group['label_entropy']:.3f}, excess {group['excess_risk']:.4f} nats; a larger share"
        f" {group['fraction_effect']} it ({group['fraction_elasticity']:+.2f} % per % of share)"
    )
print(f"law reliable at n = {samples}: {fit.forecast.law.reliable}")

# %%
# Look at two numbers. The excess, which is all that more data can remove, is a few thousandths of a nat: nearly all of
# the loss is entropy. And its elasticity in the share is small: the network learns nearly the same from both groups. So
# the forecast is that a larger share changes little, and that more data from any group does more, because the excess
# falls like :math:`1/n`.
#
# Check the forecast
# ------------------
#
# Train several times on :math:`n` examples with a chosen share of the minority, and measure the loss of both groups on
# held-out people. Here the network has an intercept, as it would in practice.

from sklearn.preprocessing import StandardScaler

scaled = StandardScaler().fit_transform(table.features)


def losses(wanted: float, size: int, seed: int) -> list[float]:
    """Held-out cross entropy of both groups after training with this share of the minority."""
    random = np.random.default_rng(seed)
    members = [random.permutation(np.flatnonzero(table.groups == group)) for group in (0, 1)]
    taken = [size - round(wanted * size), round(wanted * size)]
    held_out = [rows[-min(4000, len(rows) // 3) :] for rows in members]
    train = np.concatenate([rows[:count] for rows, count in zip(members, taken, strict=True)])
    network = lopsided.TeacherStudentClassifier(2, random_state=seed).fit(scaled[train], table.labels[train])
    found = []
    for rows in held_out:
        chance = network.predict_proba(scaled[rows])[np.arange(len(rows)), table.labels[rows]]
        found.append(float(-np.mean(np.log(np.maximum(chance, 1e-12)))))
    return found


repeats = 4
for wanted, size in ((0.1, samples), (share, samples), (0.6, samples), (share, samples // 2)):
    measured = np.array([losses(min(wanted, 0.6), size, seed) for seed in range(repeats)])
    mean, error = measured.mean(axis=0), measured.std(axis=0, ddof=1) / np.sqrt(repeats)
    words = ", ".join(f"{name} {m:.4f} ± {e:.4f}" for name, m, e in zip(table.group_names, mean, error, strict=True))
    print(f"share {wanted:.0%} of n = {size}: {words}")

# %%
# What to take away
# -----------------
#
# Compare the differences between the lines with their standard errors. On the census, shares from 10 % to 60 % change
# the women's loss by less than a hundredth of a nat, hardly more than its error, while the gap between the groups is
# twenty times that. The men lose about as much as the women could gain, and a second thousand people from both groups
# helps at least as much as any share. As the law said, the share matters little here. The sizes that it forecasts are
# less reliable. The law assumes that the fitted network is true, and real data are not a Gaussian mixture: its label
# entropy for women is far above the measured loss. So use the law to see *whether* a share can matter, and the few
# lines above to see *how much*. :doc:`/theory/group-imbalance` explains the law and its limits.
