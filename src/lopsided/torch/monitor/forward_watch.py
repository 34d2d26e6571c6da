"""The hooks of the monitor: they keep the inputs and outputs of the head in each forward pass, and find the labels.

A forward pass gives features and logits before the labels are known, so the latest passes wait here, detached. Usually
one is taken; the replicas of DataParallel make one batch out of several, in the order of their devices. Of several
passes before a loss (labelled and unlabelled examples) it is the one that gave the logits of the loss. The first loss
after a forward pass gives the labels: further ones have mixed or guessed labels. Nothing here changes a forward pass.
Of a long training epoch only some batches are kept (`EpochCounters.training_forward`).
"""

import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from lopsided.core.errors import InputError
from lopsided.torch.code_checks import IGNORED
from lopsided.torch.monitor.activation_probe import ActivationProbe
from lopsided.torch.monitor.epoch_counters import EpochCounters
from lopsided.torch.monitor.first_inputs import FirstInputs
from lopsided.torch.monitor.given_inputs import GivenInputs, tensor_version
from lopsided.torch.monitor.head import Head, check_output, named_module, unwrap
from lopsided.torch.monitor.head_answer import changed_answer
from lopsided.torch.monitor.hook import Hook
from torch import nn

MOST_WAITING = 4  # forward passes, such as those of labelled and unlabelled examples before their losses


class HeadPass(NamedTuple):
    """What one forward of the head showed: detached, so the graph is free to go."""

    features: torch.Tensor
    outputs: torch.Tensor
    training: bool
    versions: tuple[int | None, int | None]
    given: tuple[tuple[torch.Tensor, int | None], ...] = ()  # to the model, with their versions, while they are wanted

    @classmethod
    def of(cls, features: torch.Tensor, outputs: torch.Tensor, *, training: bool) -> "HeadPass":
        """With the tensors' versions as they are now."""
        return cls(features, outputs, training, (tensor_version(features), tensor_version(outputs)))

    @property
    def unchanged(self) -> bool:
        """Whether the tensors are unchanged since the forward pass."""
        return self.versions == (tensor_version(self.features), tensor_version(self.outputs))

    @property
    def inputs(self) -> list[torch.Tensor]:
        """What the model was given; none where it wrote into that."""
        return (
            [one for one, _ in self.given] if all(tensor_version(one) == version for one, version in self.given) else []
        )


SKIPPED = HeadPass(torch.empty(0), torch.empty(0), True, (None, None))  # a batch of which nothing is kept


class ForwardWatch:
    """Watches a model's forwards until `close`; hands labels found on the way to `on_labels`, which is held weakly."""

    def __init__(
        self,
        model: nn.Module,
        head: Head,
        counters: EpochCounters,
        *,
        features: str | nn.Module | None,
        loss: nn.Module | None,
        label_keyword: str | None,
        optimizer: Any,
        on_step: Callable[..., None],
        probe: ActivationProbe,
        first: FirstInputs,
        head_was_told: bool,
        on_labels: Callable[[Any], None],
    ) -> None:
        if loss is not None and not isinstance(loss, nn.Module):
            raise InputError(
                "a loss module such as nn.CrossEntropyLoss()",
                type(loss).__name__,
                "call monitor.update(labels) after each forward pass instead",
            )
        if label_keyword is not None and not isinstance(label_keyword, str):
            raise InputError(
                "the name of the keyword that holds the labels",
                type(label_keyword).__name__,
                "write labels='labels', or call monitor.update(labels) after each forward pass",
            )
        self.seconds = 0.0  # spent here beyond what a hook costs
        self.named: str | None = None  # the phase that the user named, which is no training
        self._of_loop = False  # whether it is that of a loop, which may be left early
        self._evaluated = False  # whether it had a pass in evaluation mode
        self._model, self._head, self._counters, self._probe, self._first = model, head, counters, probe, first
        self._given = GivenInputs(model, head, label_keyword, first)
        self._told = None if features is None else named_module(model, features)
        self._latest_features: torch.Tensor | None = None
        self._label_keyword = label_keyword
        self._label_now: Any = None
        # language models of Hugging Face are given the tokens themselves as labels, and predict the next one
        self._shifts = type(unwrap(model)).__name__.endswith(("ForCausalLM", "LMHeadModel"))
        self._check_output = not head_was_told
        self._changed: dict[bool, bool] = {}  # in training and not: whether the model's output is not its head's
        self._judged = False  # whether logits were other than the head's
        self._logits: Callable[[], torch.Tensor | None] = _nothing  # of the latest loss
        self._answered = False  # whether a loss gave labels since the latest forward pass
        self._again = False  # whether another loss of the same logits, or of a pass beside it, was left out
        self._guessed = False  # whether several passes could have given the logits of a loss
        self._on_labels, self._on_step = weakref.WeakMethod(on_labels), on_step
        self._passed: HeadPass | None = None
        devices = len(model.device_ids) if isinstance(model, nn.DataParallel) and model.device_ids else 1
        self._waiting: deque[HeadPass] = deque(maxlen=max(MOST_WAITING, devices))
        self._outer = [
            model.register_forward_pre_hook(Hook(self._before_model), with_kwargs=True),
            model.register_forward_hook(Hook(self._after_model)),
        ]
        self._handles = [head.layer.register_forward_hook(Hook(self._saw_head), with_kwargs=True), *self._outer]
        if self._told is not None:
            self._handles.append(self._told.register_forward_hook(Hook(self._saw_features)))
        if loss is not None:
            self._handles.append(loss.register_forward_hook(Hook(self._saw_loss), with_kwargs=True))
        raw = getattr(optimizer, "optimizer", optimizer)  # Accelerate wraps the optimizer
        if raw is not None and hasattr(raw, "register_step_post_hook"):
            self._handles.append(raw.register_step_post_hook(Hook(self._stepped)))

    def take(self, rows: int) -> HeadPass:
        """Inputs and outputs of the head in the latest forward pass, or in the latest few if these together have
        `rows`."""
        if not self._waiting:
            raise InputError(
                f"a forward pass through the head {self._head.name!r} before its labels",
                "none",
                "call the model first, once per update; name the layer with head= if this one is not used, and make "
                "the monitor before a compiled model's first forward",
            )
        waiting, latest = self._waiting.copy(), self._waiting[-1]
        self._waiting.clear()
        if latest.outputs.shape[0] == rows:
            return latest
        for start in range(len(waiting) - 2, -1, -1):
            together = list(waiting)[start:]
            if sum(len(seen.outputs) for seen in together) == rows:
                return _joined(together)
        return latest  # whose rows do not fit; the sentence about it is `rows_of`'s

    def take_usual(self, labels: Any) -> HeadPass | None:
        """The same in the usual case, without detours: one forward, features and logits with a row for each label, and
        labels that are class codes on their device. None where anything is otherwise."""
        if len(self._waiting) != 1 or not isinstance(labels, torch.Tensor) or labels.dtype is not torch.int64:
            return None
        seen = self._waiting[0]
        rows, outputs = labels.shape, seen.outputs
        if (
            len(rows) != 1
            or outputs.shape != (rows[0], self._head.classes)  # a single output stands for two classes
            or seen.features.ndim != 2
            or seen.features.shape[0] != rows[0]
            or labels.device != outputs.device
            or not seen.unchanged
        ):
            return None
        self._waiting.clear()
        return seen

    @property
    def notes(self) -> tuple[str, ...]:
        """That logits are not the head's own, or had several labels, if so."""
        name = self._head.name
        judged = f"the model changes the output of {name!r}: recall, loss and forecasts are those of the model's output"
        again = "the loss was called again in a step (mixup, guessed labels?): the labels of the first call count"
        guessed = "the loss was of other logits than those of several forward passes before it: the latest one counts"
        told = {judged: self._judged, again: self._again, guessed: self._guessed}
        return tuple(note for note, so in told.items() if so)

    @property
    def latest_outputs(self) -> torch.Tensor | None:
        """The logits of the latest forward that waits for its labels."""
        return self._waiting[-1].outputs if self._waiting else None

    def take_passed(self) -> HeadPass | None:
        """The batch that was skipped, if the present labels belong to one; its features only while they are wanted."""
        passed, self._passed = None if self._waiting else self._passed, None
        return passed

    def start_over(self) -> None:
        """Forget the forward passes that wait for labels, and the phase."""
        self._waiting.clear()
        self._passed, self._answered = None, False
        self.start_phase(None)

    def start_phase(self, name: str | None, *, of_loop: bool = False) -> None:
        """Forward passes belong to this phase of the user's; None for those that the model's mode tells apart."""
        self.named, self._of_loop, self._evaluated = name, of_loop, False

    def close(self) -> None:
        """Remove every hook."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._given.close()
        self._waiting.clear()

    def _saw_features(self, _: nn.Module, __: tuple[Any, ...], output: Any) -> None:
        found = output[0] if isinstance(output, (tuple, list)) and output else output
        if not isinstance(found, torch.Tensor):
            raise InputError(
                "a tensor, or a tuple that begins with one, from the layer named by features=",
                type(found).__name__,
                "name a layer that returns the features themselves",
            )
        self._latest_features = found.detach()

    def _saw_head(
        self, layer: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any], output: torch.Tensor
    ) -> None:
        if self._probe.running:
            return
        training = layer.training
        if self._answered:  # a new step: what is left of the last one had no labels
            self._answered = False
            self._waiting.clear()
        if self._of_loop:
            self._leave_phase(training=training)
        passed = training and self.named is None and self._counters.training_forward(output.shape[0])
        if passed and self._first.done:
            self._passed = SKIPPED
            return
        given = arguments[0] if arguments else next(iter(keywords.values()))
        features = given.detach() if self._told is None else self._latest_features
        if features is None:
            raise InputError("the features before the head", "none", "name a layer that runs before it with features=")
        versions = tensor_version(features), tensor_version(output)
        given_inputs = self._given.taken()
        seen = HeadPass(features, output.detach(), training, versions, given_inputs if training else ())
        if passed:  # of several passes before a loss, nobody asks which gave its logits
            self._passed = seen if self._passed is None else SKIPPED
        else:
            self._waiting.append(seen)

    def _leave_phase(self, *, training: bool) -> None:
        """End a phase that evaluated when training goes on: a loop over `Monitor.batches` that was left early may not
        have ended it."""
        self._evaluated = self._evaluated or not training
        if training and self._evaluated and torch.is_grad_enabled():
            self.start_phase(None)

    def _before_model(self, _: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> None:
        # A compiled model remembers hooks that were taken off, and calls them without keywords.
        if keywords is None or self._probe.running:
            return
        if self._label_keyword is not None:
            self._label_now = keywords.get(self._label_keyword)
            if self._shifts and isinstance(self._label_now, torch.Tensor):  # as the model does for its loss
                self._label_now = torch.nn.functional.pad(self._label_now[..., 1:], (0, 1), value=IGNORED)
        self._given.enter(arguments, keywords)
        if not self._probe.started and self._model.training:
            began = time.perf_counter()
            self._probe.start(arguments, keywords)
            self.seconds += time.perf_counter() - began

    def _after_model(self, _: nn.Module, __: tuple[Any, ...], output: Any) -> None:
        if self._probe.running:
            return
        self._given.leave()
        if self._check_output:
            self._check_output = False
            check_output(output, self._head)
        if self._waiting:
            self._as_answered(output)
        if self._label_now is not None:
            labels, self._label_now = self._label_now, None
            self._labelled(labels)
        elif self._outside_is_known:
            for handle in self._outer:  # nothing left to see from outside
                handle.remove()

    @property
    def _outside_is_known(self) -> bool:
        """Whether the model's own inputs and output have nothing more to show."""
        unwatched = self._label_keyword is None and self._probe.started and self._first.done
        return unwatched and list(self._changed.values()) == [False, False]

    def _as_answered(self, output: Any) -> None:
        """Take the model's output for the logits if it changes those of its head; the first forward of a mode tells."""
        seen = self._waiting[-1]
        if not self._changed.get(seen.training, True):
            return
        found = changed_answer(seen.features, seen.outputs, output)
        self._changed[seen.training] = found is not None
        if found is not None:
            self._waiting[-1] = HeadPass.of(*found, training=seen.training)._replace(given=seen.given)
            self._judged = self._judged or found[1].shape == seen.outputs.shape

    def _saw_loss(self, _: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any], __: Any) -> None:
        target = arguments[1] if len(arguments) > 1 else keywords.get("target", keywords.get("labels"))
        logits = arguments[0] if arguments else keywords.get("input")
        if target is None:
            return
        if self._answered:
            self._again = self._again or (logits is not None and (self._logits() is logits or self._waits(logits)))
        elif self._passed is not None or self._waiting:  # without a forward before it, the loss is of something else
            self._logits = weakref.ref(logits) if isinstance(logits, torch.Tensor) else _nothing
            others = self._set_aside(logits) if len(self._waiting) > 1 else []
            self._labelled(target)
            self._answered = True
            self._waiting.extend(others)  # until the next forward pass, to know them again

    def _labelled(self, labels: Any) -> None:
        if (action := self._on_labels()) is not None:
            action(labels)

    def _stepped(self, *_: object) -> None:
        self._counters.stepped()
        self._on_step()

    def _waits(self, logits: Any) -> bool:
        """Whether these are the logits of a forward pass that waits."""
        return isinstance(logits, torch.Tensor) and any(_same(seen.outputs, logits) for seen in self._waiting)

    def _set_aside(self, logits: Any) -> list[HeadPass]:
        """Leave only the forward pass that gave these logits, and return the others; none if it is not found."""
        if not self._waits(logits):
            rows = len(logits) if isinstance(logits, torch.Tensor) and logits.ndim else -1
            self._guessed = self._guessed or sum(len(seen.outputs) == rows for seen in self._waiting) > 1
            return []
        own = [seen for seen in self._waiting if _same(seen.outputs, logits)][-1]
        others = [seen for seen in self._waiting if seen is not own]
        self._waiting.clear()
        self._waiting.append(own)
        return others


def _nothing() -> None:
    """Where there is no tensor to refer to."""


def _same(outputs: torch.Tensor, logits: torch.Tensor) -> bool:
    """Whether two tensors share their memory and rows."""
    return logits.ndim > 0 and (outputs.data_ptr(), len(outputs)) == (logits.data_ptr(), len(logits))


def _joined(parts: list[HeadPass]) -> HeadPass:
    ordered = sorted(parts, key=lambda part: part.features.device.index or 0)  # stable: else in order of arrival
    device = ordered[0].features.device
    features = torch.cat([part.features.to(device) for part in ordered])
    outputs = torch.cat([part.outputs.to(device) for part in ordered])
    return HeadPass.of(features, outputs, training=ordered[0].training)._replace(given=parts[0].given)
