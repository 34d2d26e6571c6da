"""Every remedy, in the order in which a plan considers them; those that are not `default` are used only on request. To
add one, write a file and list it here."""

from lopsided.remedies.balanced_bagging import BalancedBagging
from lopsided.remedies.balanced_softmax import BalancedSoftmax
from lopsided.remedies.class_weighting import ClassWeighting
from lopsided.remedies.classifier_retraining import ClassifierRetraining
from lopsided.remedies.collection import Collection
from lopsided.remedies.contract import Remedy
from lopsided.remedies.focal import Focal
from lopsided.remedies.group_dro import GroupDro
from lopsided.remedies.group_standardiser import GroupStandardising
from lopsided.remedies.group_weighting import GroupWeighting
from lopsided.remedies.half_way_oversampling import HalfWayOversampling
from lopsided.remedies.ldam import Ldam
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.noisy_oversampling import NoisyOversampling
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.plain import Plain
from lopsided.remedies.smote import Smote
from lopsided.remedies.tau_normalisation import TauNormalisation
from lopsided.remedies.threshold_moving import ThresholdMoving
from lopsided.remedies.undersampling import Undersampling

EVERY: tuple[type[Remedy], ...] = (
    Plain,
    LogitAdjustment,
    ClassWeighting,
    Oversampling,
    HalfWayOversampling,
    Undersampling,
    Smote,
    NoisyOversampling,
    BalancedBagging,
    ThresholdMoving,
    BalancedSoftmax,
    Ldam,
    Focal,
    ClassifierRetraining,
    TauNormalisation,
    GroupWeighting,
    GroupDro,
    GroupStandardising,
    Collection,
)
