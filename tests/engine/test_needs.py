"""What a claim needs and does not find becomes `not run` with a sentence that helps."""

import importlib.util
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from lopsided.core.errors import InputError
from lopsided.core.figure import Figure
from lopsided.engine.needs import EXTRAS, why_absent
from lopsided.papers.claim import Claim, Outcome, Runs, Source, Verdict
from lopsided.papers.register import Registered
from lopsided.papers.reproduce import _Planned
from lopsided.skill.benchmark import skill

CLAIM = Claim(
    id="toy-packages",
    statement="s",
    source=Source("k", "p"),
    rule="r",
    quick=Runs([{}]),
    measure=lambda settings, seed: {},
    judge=lambda rows: Verdict(Outcome.HOLDS, "", {}),
    plot=lambda rows: Figure("t"),
    paper_says="",
    packages=("no_such_package",),
)


def planned(claim: Claim) -> _Planned:
    return _Planned.make(Registered(claim.id, None, claim, "home"), "quick", 0, None)


def test_a_missing_package_is_the_reason() -> None:
    plan = planned(CLAIM)
    assert plan.why == str(why_absent((), CLAIM.packages))
    assert "no-such-package for this claim" in str(plan.why)
    assert str(plan.why).endswith("pip install no-such-package.")  # no extra has it
    assert not plan.broken
    assert planned(replace(CLAIM, packages=("json",))).tasks


def test_a_skill_family_is_not_called_a_claim(tmp_path, monkeypatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    with pytest.raises(InputError) as refused:
        skill(run=True, only=["collapse-ratio"], store=tmp_path, most_tasks=1)
    reason = str(refused.value)
    assert "the package torch for this skill family" in reason
    assert reason.endswith("pip install 'lopsided[torch]'.")


def test_every_extra_that_is_named_exists_and_installs_the_package() -> None:
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {extra: [re.split("[<>=]", line)[0] for line in lines] for extra, lines in extras.items()}
    for package, extra in EXTRAS.items():
        assert {"imblearn": "imbalanced-learn"}.get(package, package) in names[extra]
    raised = re.compile(r"MissingPackage\(\s*(?:error\.name or )?\"([\w-]+)\",[^()]*?, \"(\w+)\"\)")
    text = "".join(path.read_text(encoding="utf-8") for path in (root / "src/lopsided").rglob("*.py"))
    found = raised.findall(text)
    assert len(found) > 6
    assert [(package, extra) for package, extra in found if package not in names.get(extra, ())] == []


def test_data_sets_are_found_by_their_loaders(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOPSIDED_DATA", str(tmp_path))
    (tmp_path / "adult").mkdir()
    for name in ("adult.data", "adult.test"):
        (tmp_path / "adult" / name).touch()
    (tmp_path / "mnist").mkdir()  # empty: the folder alone is no data set
    assert why_absent(("adult",)) is None
    assert "Needs mnist, cifar-10, not found" in str(why_absent(("adult", "mnist", "cifar-10")))
    monkeypatch.delenv("LOPSIDED_DATA")
    assert "--data-dir" in str(why_absent(("adult",)))
    assert why_absent(()) is None
