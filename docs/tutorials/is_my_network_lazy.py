r"""
Is my network in the lazy regime?
=================================

A network is lazy when training barely moves its weights and hardly any hidden unit changes the examples it fires for.
It then works as a fixed random feature map. Which theory applies to your network depends on whether it is lazy. Three
numbers from two checkpoints of a layer answer the question: the share of activation patterns that changed, the relative
distance that the weights moved, and the rank of the change.

The data are scikit-learn's digits, scaled to length 1; the network is the two-layer ReLU network of Li and Liang
(2018), trained by SGD at a rate proportional to 1/width.
"""

import numpy as np
from sklearn.datasets import load_digits

from lopsided.learners.wide_descent import WideDescent, shuffled_batches
from lopsided.learners.wide_relu import accuracy, network_outputs, random_network
from lopsided.measure.coupling import pattern_change_of_weights
from lopsided.measure.weight_change import relative_distance, spectrum

images, labels = load_digits(return_X_y=True)
images = images / np.linalg.norm(images, axis=1, keepdims=True)
train, test = np.arange(len(labels)) % 4 != 0, np.arange(len(labels)) % 4 == 0

# %%
# Two checkpoints
# ---------------
#
# The measurements need only ``start`` and ``end``. Take them from any network, one row per hidden unit.


def checkpoints(width: int, rate_times_width: float, steps: int = 500) -> tuple[np.ndarray, np.ndarray, float]:
    """Hidden weights before and after training, and the test accuracy."""
    random = np.random.default_rng(0)
    network = random_network(width, images.shape[1], 10, random)
    start = network.hidden.copy()
    batches = shuffled_batches(int(train.sum()), 32, steps, random)
    descent = WideDescent(network, images[train], labels[train], batches, rate_times_width / width)
    for _ in descent:
        pass
    end = descent.weights()
    return start, end, accuracy(network_outputs(images[test] @ end.T, network.top), labels[test])


start, end, reached = checkpoints(width=500, rate_times_width=10.0)
change = pattern_change_of_weights(start, end, images[test])
moved = relative_distance(start, end)
update, final = spectrum(end - start), spectrum(end)
print(f"test accuracy {reached:.3f}")
print(f"patterns changed: {change.pairs:.3f} of the (unit, example) pairs; 0.5 would be no relation to the start")
print(f"relative distance |W - W0| / |W0|: {moved.frobenius:.3f}")
print(f"entropy rank of the change {update.entropy_rank:.1f}, of the weights {final.entropy_rank:.1f}")

# %%
# The effect of the width
# -----------------------
#
# In theory, the distance falls like :math:`1/\sqrt{m}` at a given accuracy, and fewer patterns change as well.

from lopsided.core.figure import Figure, Line, Mark, Panel

widths = [50, 150, 500, 1500]
found = []
for width in widths:
    start, end, reached = checkpoints(width, 10.0)
    found.append(
        (reached, pattern_change_of_weights(start, end, images[test]).pairs, relative_distance(start, end).frobenius)
    )
    print(f"width {width}: accuracy {found[-1][0]:.3f}, patterns {found[-1][1]:.3f}, distance {found[-1][2]:.3f}")
accuracies, patterns, distances = (list(column) for column in zip(*found, strict=True))
slope = np.polyfit(np.log(widths), np.log(distances), 1)[0]
print(f"distance ~ width^{slope:.2f}")
lines = [
    Line(widths, patterns, "patterns changed", markers=True),
    Line(widths, distances, "relative distance", markers=True),
    Line(widths, [1 - a for a in accuracies], "test error", markers=True),
]
panel = Panel("Digits, 500 steps", "hidden units", "share", lines, [Mark(0.1, "0.1", "y")], x_log=True, y_log=True)
Figure("Wider networks stay nearer to their initial weights", [panel])

# %%
# The effect of the learning rate
# -------------------------------
#
# The width stays the same; the learning rate is multiplied by 0.1, 1 and 30.

for factor in (0.1, 1.0, 30.0):
    start, end, reached = checkpoints(500, 10.0 * factor)
    change, moved = pattern_change_of_weights(start, end, images[test]).pairs, relative_distance(start, end).frobenius
    print(f"rate x {factor:g}: accuracy {reached:.3f}, patterns changed {change:.3f}, distance {moved:.3f}")

# %%
# How to read it
# --------------
#
# If both the share of changed patterns and the distance are below 0.1, the network is lazy: results about kernels and
# about coupling with the pseudo network apply, and so does :doc:`/theory/structured-data`. If the share is near 0.5 or
# the distance is of order 1, the network is learning features, and those results do not apply. Between the two, trust
# neither. The limits of 0.1 are what the paper reports for its own data, not laws.
