"""What the monitor should find, by plain loops over whole arrays in NumPy, and small networks to watch."""

import numpy as np

import torch
from lopsided.torch import Monitor
from torch import nn


def features_of(model, inputs):
    """Input of the last layer of a Sequential, in float64."""
    with torch.no_grad():
        hidden = model[:-1](inputs)
    return hidden.double().numpy()


def loop_reference(features, labels, weight, bias, classes):
    """Class means, scatter, NC1-NC4, energies, accuracy and loss by loops."""
    means = np.array([features[labels == k].mean(axis=0) for k in range(classes)])
    grand = means.mean(axis=0)
    within = sum(np.outer(x - means[y], x - means[y]) for x, y in zip(features, labels, strict=True)) / len(labels)
    between = sum(np.outer(m - grand, m - grand) for m in means) / classes
    logits = features @ weight.T + bias
    nearest = np.array([np.argmin([np.linalg.norm(x - m) for m in means]) for x in features])
    losses = np.array([np.log(np.exp(z - z.max()).sum()) + z.max() - z[y] for z, y in zip(logits, labels, strict=True)])
    centred = means - grand
    return {
        "means": means,
        "nc1": np.trace(within @ np.linalg.pinv(between)) / classes,
        "nc2_norm_variation": np.linalg.norm(centred, axis=1).std() / np.linalg.norm(centred, axis=1).mean(),
        "nc3": np.linalg.norm(weight / np.linalg.norm(weight) - centred / np.linalg.norm(centred)),
        "nc4": float(np.mean(logits.argmax(axis=1) != nearest)),
        "feature_energy": np.mean([(features[labels == k] ** 2).sum(axis=1).mean() for k in range(classes)]),
        "centred_mean_energy": np.mean([(m - grand) @ (m - grand) for m in means]),
        "weight_energy": np.mean([w @ w for w in weight]),
        "within_variance": np.trace(within),
        "accuracy": np.mean(logits.argmax(axis=1) == labels),
        "class_accuracy": [np.mean(logits[labels == k].argmax(axis=1) == k) for k in range(classes)],
        "loss": losses.mean(),
        "class_loss": [losses[labels == k].mean() for k in range(classes)],
    }


def pair_cosines(rows, chosen, others=None):
    """Mean cosine over pairs within `chosen`, or between `chosen` and `others`."""
    pairs = (
        [(i, j) for place, i in enumerate(chosen) for j in chosen[place + 1 :]]
        if others is None
        else [(i, j) for i in chosen for j in others]
    )
    return np.mean([rows[i] @ rows[j] / np.linalg.norm(rows[i]) / np.linalg.norm(rows[j]) for i, j in pairs])


def small_network(classes=4, width=6, inputs=5, *, batch_norm=False):
    middle = [nn.BatchNorm1d(width)] if batch_norm else []
    return nn.Sequential(nn.Linear(inputs, width), *middle, nn.ReLU(), nn.Linear(width, classes))


def planted_head(cosine_pair=None, classes=6, width=12):
    """Identity features and orthogonal classifiers, of which two may be made equal."""
    head = nn.Linear(width, classes)
    with torch.no_grad():
        head.weight.copy_(torch.eye(classes, width))
        head.bias.zero_()
        if cosine_pair is not None:
            head.weight[cosine_pair[1]] = head.weight[cosine_pair[0]]
    return nn.Sequential(nn.Identity(), head)


def epochs(model, inputs, labels, count, *, size=16, **options):
    """Show the batches to a monitor without training, and close `count` epochs."""
    monitor = Monitor(model, **({"geometry_every": 1} | options))
    for _ in range(count):
        for rows in torch.arange(len(labels)).split(size):
            model(inputs[rows])
            monitor.update(labels[rows])
        monitor.end_epoch()
    return monitor
