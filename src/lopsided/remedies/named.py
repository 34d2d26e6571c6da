"""Remedies by name, with the parameters that a plan would give them for the data."""

from collections.abc import Sequence

from lopsided.core.errors import InputError
from lopsided.core.validation import name_one_of
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy
from lopsided.remedies.every import EVERY
from lopsided.remedies.plain import Plain

_ALSO = {"balanced oversampling": "oversampling", "random oversampling": "oversampling"}
_ALSO |= {"random undersampling": "undersampling", "noisy oversampling": "oversampling with noise"}


def kind_named(name: str, what: str = "a remedy", also: Sequence[str] = ()) -> type[Remedy]:
    """The remedy with that name, ignoring case and hyphens; the error says `what` was expected, or `also`."""
    known = {word: kind for kind in EVERY for word in kind.variants or [kind.name] if isinstance(word, str)}
    asked = _plainly(name)
    found = {_plainly(word): kind for word, kind in known.items()}.get(_ALSO.get(asked, asked))
    if found is None:
        names = [*known, *(word for word in also if ":" not in word)]
        raise InputError(f"{what} among {', '.join([*known, *also])}", repr(name), name_one_of(names, name))
    return found


def proposals_named(name: str, occasion: Occasion, what: str = "a remedy", also: Sequence[str] = ()) -> Proposals:
    """What the remedy with that name proposes; of one with variants only that one."""
    kind = kind_named(name, what, also)
    found, notes = kind.propose(occasion)
    return [one for one in found if not kind.variants or _plainly(one.remedy.name) == _plainly(name)], notes


def proposed(name: str, training: LabelledSet, metric: str, seed: int, also: Sequence[str] = ()) -> Proposal:
    """The remedy with that name and its first choice of parameters for the data; plain training if it does not
    apply."""
    if kind_named(name, also=also).needs_groups and training.groups is None:
        raise InputError(f"groups for {name}", "none", "give one group per example to fit")
    found, notes = proposals_named(name, Occasion(training, None, metric, {}, seed))
    return found[0] if found else Proposal(Plain(), " ".join(notes) or "Does nothing about imbalance.")


def _plainly(name: str) -> str:
    return name.lower().replace("-", " ").replace("_", " ")
