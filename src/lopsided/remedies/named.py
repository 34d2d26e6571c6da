"""Remedies by name, with the parameters that a plan would give them for the data."""

from collections.abc import Sequence

from lopsided.core.errors import InputError
from lopsided.core.validation import name_one_of
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Occasion, Proposal, Remedy
from lopsided.remedies.every import EVERY
from lopsided.remedies.plain import Plain

_ALSO = {"balanced oversampling": "oversampling", "random oversampling": "oversampling"}
_ALSO |= {"random undersampling": "undersampling", "noisy oversampling": "oversampling with noise"}


def kind_named(name: str, what: str = "a remedy", also: Sequence[str] = ()) -> type[Remedy]:
    """The remedy with that name, ignoring case and hyphens; the error says `what` was expected, or `also`."""
    known = {_plainly(str(kind.name)): kind for kind in EVERY if isinstance(kind.name, str)}
    asked = _plainly(name)
    found = known.get(_ALSO.get(asked, asked))
    if found is None:
        names = [str(kind.name) for kind in known.values()] + [word for word in also if ":" not in word]
        listed = ", ".join([*(str(kind.name) for kind in known.values()), *also])
        raise InputError(f"{what} among {listed}", repr(name), name_one_of(names, name))
    return found


def proposed(kind: type[Remedy], training: LabelledSet, metric: str, seed: int) -> Proposal:
    """The remedy with its first choice of parameters for the data; plain training if it does not apply."""
    if kind.needs_groups and training.groups is None:
        raise InputError(f"groups for {kind.name}", "none", "give one group per example to fit")
    found, notes = kind.propose(Occasion(training, None, metric, {}, seed))
    return found[0] if found else Proposal(Plain(), " ".join(notes) or "Does nothing about imbalance.")


def _plainly(name: str) -> str:
    return name.lower().replace("-", " ").replace("_", " ")
