"""Public functions show themselves: every parameter has a name, a type and a description in `help()`."""

import ast
import inspect
import re

import pytest

import lopsided
import lopsided.remedies
import lopsided.torch
from lopsided.skill.benchmark import skill
from tests.test_rooms import room_of, trees


def is_warning_or_protocol(found) -> bool:
    return inspect.isclass(found) and (issubclass(found, Exception) or getattr(found, "_is_protocol", False))


EXPORTED = {
    f"{room.__name__}.{name}": getattr(room, name)
    for room in (lopsided, lopsided.remedies, lopsided.torch)
    for name in room.__all__
    if name != "skill" and callable(getattr(room, name)) and not is_warning_or_protocol(getattr(room, name))
} | {"lopsided.skill": skill}
# What takes any keyword, and why.
OPEN = {
    "cli/console.py Late.write": "calls the function that it is given",
    "cli/options.py options_for": "names and values of another function",
    "report/audit.py Audit.plan": "shows the parameters of lopsided.plan (of_known_data)",
    "report/audit.py Audit.trial": "shows the parameters of lopsided.trial (of_known_data)",
    "report/page.py render": "the facts of a template",
    "torch/loggers.py WandbLogger.__init__": "the arguments of wandb.init",
    "torch/remedies/logit_adjusted.py PostHocAdjustment.forward": "the arguments of the user's own model",
    "torch/transformers_callbacks.py TransformersMonitor.on_train_begin": "given by the Hugging Face Trainer",
    "torch/transformers_callbacks.py TransformersMonitor.on_epoch_end": "given by the Hugging Face Trainer",
    "torch/transformers_callbacks.py TransformersMonitor.on_step_begin": "given by the Hugging Face Trainer",
    "torch/transformers_callbacks.py TransformersMonitor.on_step_end": "given by the Hugging Face Trainer",
    "torch/transformers_callbacks.py TransformersMonitor.on_evaluate": "given by the Hugging Face Trainer",
    "torch/transformers_callbacks.py TransformersMonitor.on_save": "given by the Hugging Face Trainer",
    "torch/transformers_callbacks.py TransformersMonitor.on_epoch_begin": "given by the Hugging Face Trainer",
    "torch/transformers_callbacks.py TransformersMonitor.on_train_end": "given by the Hugging Face Trainer",
    "torch/transformers_callbacks.py TransformersSamplerGuard.on_train_begin": "given by the Hugging Face Trainer",
    "web/rooms/files.py DataProblem.submit": "the parameters of a job",
    "worlds/patch_runs.py patch_settings": "further settings of a run",
}
DOCUMENTED = EXPORTED | {"Audit.plan": lopsided.Audit.plan, "Audit.trial": lopsided.Audit.trial}
DOCUMENTED |= {"lopsided.InputError": lopsided.InputError}


def shown(function) -> dict[str, inspect.Parameter]:
    return {name: one for name, one in inspect.signature(function).parameters.items() if name != "self"}


@pytest.mark.parametrize("name", EXPORTED)
def test_what_is_exported_names_its_parameters(name) -> None:
    found = EXPORTED[name]
    methods = [one for key, one in vars(found).items() if inspect.isfunction(one) and key[0] != "_"]
    for function in [found, *(methods if inspect.isclass(found) else [])]:
        place = f"{function.__module__.replace('.', '/').removeprefix('lopsided/')}.py {function.__qualname__}"
        for one in shown(function).values():
            assert one.kind is not one.VAR_KEYWORD or {place, f"{place}.__init__"} & set(OPEN), place
            assert one.annotation is not one.empty, f"{place}: {one.name}"


def test_the_room_that_can_be_called_shows_its_function() -> None:
    assert inspect.signature(lopsided.skill) == inspect.signature(skill)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_parameter_is_documented(name) -> None:
    documented = inspect.getdoc(DOCUMENTED[name])
    assert documented is not None
    assert "{inputs}" not in documented
    assert undocumented(documented, list(shown(DOCUMENTED[name]))) == []


def undocumented(text: str, parameters: list[str]) -> list[str]:
    """Names that are missing from the section Parameters, or too many there, or without a sentence; a record that is
    returned, never made by its user, has its fields under Attributes."""
    sections = dict(re.findall(r"^(\w+)\n-{3,}\n(.*?)(?=^\w+\n-{3,}\n|\Z)", text, re.M | re.S))
    told = sections.get("Parameters", sections.get("Attributes", ""))
    entries = re.findall(r"^(\w+) : .+\n    \S", told, re.M)
    return sorted(set(entries) ^ set(parameters))


def test_that_a_parameter_without_words_is_found() -> None:
    text = "Do it.\n\nParameters\n----------\na : int\n    One.\nb : int\n\nReturns\n-------\nc : int\n    Two."
    assert undocumented(text, ["a"]) == []
    assert undocumented(text, ["a", "b"]) == ["b"]
    assert undocumented(text, []) == ["a"]
    assert undocumented("Do it.\n\nArgs:\n    a: One.", ["a"]) == ["a"]
    assert undocumented("Kept.\n\nAttributes\n----------\na : int\n    One.", ["a"]) == []


@pytest.mark.parametrize("room", [lopsided, lopsided.remedies, lopsided.torch])
def test_every_export_has_a_docstring_of_its_own(room) -> None:
    bare = [
        name
        for name in room.__all__
        if name != "__version__" and not (getattr(getattr(room, name), "__doc__", None) or "").strip()
    ]
    assert bare == []


def open_functions(tree: ast.Module) -> list[str]:
    """Public functions and methods that take keywords without a name."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found += [f"{node.name}.{name}" for name in open_functions(ast.Module(node.body, []))]
        elif isinstance(node, ast.FunctionDef) and (node.name[0] != "_" or node.name in ("__init__", "__call__")):
            found += [node.name] * (node.args.kwarg is not None)
    return found


def test_no_function_hides_its_parameters() -> None:
    """Claims apart: their helpers pass on what a claim states or how it runs."""
    found = {f"{place} {name}" for place, tree in trees().items() for name in open_functions(tree)}
    assert {name for name in found if room_of(name) != "papers"} == set(OPEN)


def test_that_check_can_fail() -> None:
    text = "def f(**options): ...\nclass C:\n    def __init__(self, **more): ...\n    def _g(self, **more): ..."
    assert open_functions(ast.parse(text)) == ["f", "C.__init__"]


@pytest.mark.parametrize("name", ["LightningMonitor", "TransformersMonitor"])
def test_adapters_take_what_the_monitor_takes(name) -> None:
    own, taken = shown(getattr(lopsided.torch, name)), shown(lopsided.torch.Monitor)
    read = {"model", "labels", "groups"}  # from the trainer, or each in its own way
    assert {key: one for key, one in taken.items() if key not in read} == {
        key: one for key, one in own.items() if key in taken.keys() - read
    }
