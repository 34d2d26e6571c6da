"""Labels, groups and a forecast in; sampler, weights, augmenter or loss out.

Each name loads its module when it is first used, so importing this package is quick.
"""

from importlib import import_module
from typing import Any

# module -> the public names that it defines
_NAMES = {
    "augmentation": ("add_noise", "forecast_noise", "matching_noise", "random_crops"),
    "class_weighting": ("Weights", "class_weights", "forecast_weights"),
    "group_dro": ("DroState", "dro_start", "dro_step"),
    "group_standardiser": ("GroupStandardiser",),
    "logit_adjustment": ("adjust_logits", "adjust_probabilities", "logit_offsets", "prior_of"),
    "oversampler": ("Oversampler",),
    "rates": ("Rates", "oversampling_rates", "rates_for"),
    "recipe": ("Recipe",),
    "resampling": ("ResamplingPlan", "resampling_plan"),
    "thresholds": ("ThresholdMover",),
    "update_moments": ("UpdateVariance", "update_variance", "update_variance_of"),
}
_HOME = {name: f"lopsided.remedies.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'lopsided.remedies' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
