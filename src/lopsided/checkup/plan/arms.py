"""The arms that a user asks for: names of remedies, remedies, samplers and estimators, each as a proposal."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lopsided.core.errors import InputError
from lopsided.learners.named_learner import imported
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy
from lopsided.remedies.every import EVERY
from lopsided.remedies.named import proposals_named
from lopsided.remedies.own import own_arm
from lopsided.remedies.plain import Plain

DEFAULT = "default"  # all remedies that a plan includes by default


class NothingFits(InputError):
    """None of the arms applies to the data."""


def proposals_for(arms: Sequence[Any] | None, occasion: Occasion) -> Proposals:
    """A proposal for each arm, in their order, and notes on those that do not apply to the data; None is "default"."""
    found: list[Proposal] = []
    notes: list[str] = []
    if isinstance(arms, (str, Remedy)) or not isinstance(arms, Sequence | None):
        arms = [arms]
    for arm in [DEFAULT] if arms is None else arms:
        proposals, left_out = _proposed(arm, occasion)
        found += [one for one in proposals if one.remedy not in [other.remedy for other in found]]
        notes += [note for note in left_out if note not in notes]
    if arms is not None and not found:
        got = f"{len(arms)} of which none fits the data ({' '.join(notes) or 'plain training is always there'})"
        raise (NothingFits if notes else InputError)("arms to try", got, "name others")
    return _told_apart(found), notes


def _proposed(arm: Any, occasion: Occasion) -> Proposals:
    if isinstance(arm, Remedy):
        return [Proposal(arm, "As given.")], []
    if isinstance(arm, type) and issubclass(arm, Remedy):
        return arm.propose(occasion)
    if not isinstance(arm, str):
        return [Proposal(own_arm(arm), "Your own.")], []
    if ":" in arm:
        return [Proposal(own_arm(imported(arm, occasion.seed, samplers=True)), "Your own.")], []
    if arm == Plain.name:
        return [], []
    if arm.lower() != DEFAULT:
        return proposals_named(arm, occasion, "arms", (DEFAULT, "package.module:Class"))
    found: list[Proposal] = []
    notes: list[str] = []
    for kind in default_kinds(network=occasion.network):
        proposals, left_out = kind.propose(occasion)
        found, notes = found + proposals, notes + left_out
    return found, notes


def default_kinds(*, network: bool = False) -> list[type[Remedy]]:
    """What a plan proposes by default, except collection; `network` says that the learner is a PyTorch network."""
    return [kind for kind in EVERY if kind.default or (network and kind.needs_network)]


def _told_apart(proposals: Sequence[Proposal]) -> list[Proposal]:
    found: list[Proposal] = []
    for proposal in proposals:
        taken = {Plain.name, *(other.remedy.name for other in found)}
        found.append(replace(proposal, remedy=proposal.remedy.named_apart(taken)))
    return found
