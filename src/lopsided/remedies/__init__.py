"""Labels, groups and a forecast in; sampler, weights, augmenter or loss out.

Each name loads its module when it is first used, so that a scikit-learn user pays for no more than he asks for.
"""

from importlib import import_module
from typing import Any

# public name -> module that defines it
_HOME = {
    "DroState": "group_dro",
    "GroupStandardiser": "group_standardiser",
    "Oversampler": "oversampler",
    "Rates": "rates",
    "Recipe": "recipe",
    "ResamplingPlan": "resampling",
    "ThresholdMover": "thresholds",
    "UpdateVariance": "update_moments",
    "Weights": "class_weighting",
    "add_noise": "augmentation",
    "adjust_logits": "logit_adjustment",
    "adjust_probabilities": "logit_adjustment",
    "class_weights": "class_weighting",
    "dro_start": "group_dro",
    "dro_step": "group_dro",
    "forecast_noise": "augmentation",
    "forecast_weights": "class_weighting",
    "logit_offsets": "logit_adjustment",
    "matching_noise": "augmentation",
    "oversampling_rates": "rates",
    "random_crops": "augmentation",
    "prior_of": "logit_adjustment",
    "rates_for": "rates",
    "resampling_plan": "resampling",
    "update_variance": "update_moments",
    "update_variance_of": "update_moments",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'lopsided.remedies' has no attribute {name!r}") from None
    return getattr(import_module(f"lopsided.remedies.{home}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
