"""Every remedy, in the order in which a plan considers them. Adding one is a file and its name here."""

from lopsided.remedies.class_weighting import ClassWeighting
from lopsided.remedies.collection import Collection
from lopsided.remedies.contract import Remedy
from lopsided.remedies.group_dro import GroupDro
from lopsided.remedies.group_standardiser import GroupStandardising
from lopsided.remedies.group_weighting import GroupWeighting
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.noisy_oversampling import NoisyOversampling
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.plain import Plain
from lopsided.remedies.threshold_moving import ThresholdMoving

EVERY: tuple[type[Remedy], ...] = (
    Plain,
    LogitAdjustment,
    ClassWeighting,
    Oversampling,
    NoisyOversampling,
    ThresholdMoving,
    GroupWeighting,
    GroupDro,
    GroupStandardising,
    Collection,
)
