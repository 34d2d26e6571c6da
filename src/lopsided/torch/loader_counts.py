"""The class counts of the data set behind a loader whose sampler repeats examples."""

from typing import Any

import numpy as np
from torch.utils.data import RandomSampler, WeightedRandomSampler

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray
from lopsided.torch.remedies.label_lookup import dataset_labels
from lopsided.torch.remedies.oversampling_sampler import OversamplingSampler, samplers_inside


def counts_behind(loader: Any, classes: int) -> FloatArray | None:
    """Examples of every class; None where no sampler repeats examples, or where the labels are no codes of `classes`
    classes that can be read without loading examples: then what an epoch shows is all there is to know."""
    if not any(_repeats(sampler) for sampler in samplers_inside(loader)):
        return None
    try:
        labels = dataset_labels(loader.dataset)
    except (AttributeError, InputError):
        return None
    if labels.dtype.kind not in "iu" or not 0 <= labels.min() <= labels.max() < classes:
        return None
    return np.bincount(labels, minlength=classes).astype(np.float64)


def _repeats(sampler: Any) -> bool:
    if isinstance(sampler, (RandomSampler, WeightedRandomSampler)):
        return bool(sampler.replacement)
    return isinstance(sampler, OversamplingSampler)
