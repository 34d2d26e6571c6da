"""One question per file, each defining `CHECK`; adding a file adds the check and its tests."""

from importlib import import_module

from lopsided.checkup.checks.finding import Check

# In the order of the report: what is there, what it does to a network, what the network does, which examples.
ORDER = (
    "counts",
    "missing_values",
    "collapse_forecast",
    "collapse_measured",
    "class_accuracy",
    "group_accuracy",
    "group_rates",
    "calibration",
    "group_shift",
    "group_mixture",
    "noise_ratios",
    "separability",
    "contamination",
    "label_leaks",
    "influence",
    "duplicates",
    "near_duplicates",
)


def all_checks() -> tuple[Check, ...]:
    """Every check, in the order in which an audit asks."""
    return tuple(import_module(f"{__name__}.{name}").CHECK for name in ORDER)
