"""`lopsided skill --publish`: a score that lacks a family does not replace one that has it."""

import json
from types import SimpleNamespace

import pytest

from lopsided.cli.main import main
from lopsided.core.published_skill import published_text
from lopsided.skill.benchmark import families
from lopsided.skill.families import group_mixtures


def test_a_score_that_lacks_families_is_not_published(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.delenv("LOPSIDED_DATA", raising=False)
    target = tmp_path / "published.json"
    arguments = ["--family", "collapse-tail", "--data-dir", str(tmp_path), "--store", str(tmp_path / "store")]
    assert main(["skill", "--run", *arguments, "--publish", str(target)]) == 2
    complaint = capsys.readouterr().err
    assert "none of collapse-tail; needs mnist" in complaint
    assert ".." not in complaint
    assert not target.exists()


def test_the_page_says_what_only_the_repository_has(tmp_path, monkeypatch) -> None:
    from lopsided.core import published_skill

    assert published_skill.DETAILS.is_file()
    assert main(["skill", "--out", str(tmp_path / "full.html")]) == 0
    monkeypatch.setattr(published_skill, "DETAILS", tmp_path / "absent.json")
    assert main(["skill", "--out", str(tmp_path / "bare.html")]) == 0
    full, bare = ((tmp_path / name).read_text(encoding="utf-8") for name in ("full.html", "bare.html"))
    assert "Worst misses" in full
    assert "are in the repository" not in full
    assert "Worst misses" not in bare
    assert "are in the repository (<code>docs/measured/skill_details.json</code>)" in bare


def test_families_that_were_not_run_keep_their_score(tmp_path) -> None:
    published = json.loads(published_text())
    target, details = tmp_path / "published.json", tmp_path / "details.json"
    arguments = ["--family", "width", "--tasks", "1", "--jobs", "1", "--store", str(tmp_path / "store")]
    assert main(["skill", "--run", *arguments, "--publish", str(target), "--details", str(details)]) == 0
    found = json.loads(target.read_text())
    assert "details" not in found
    names = [(entry["family"], entry["split"]) for entry in published["scores"]]
    assert sorted((entry["family"], entry["split"]) for entry in found["scores"]) == sorted(names)
    assert sorted((entry["family"], entry["split"]) for entry in json.loads(details.read_text())) == sorted(names)
    for entry in found["scores"]:
        if entry["family"] == "skill-width":
            assert entry["tasks"] == 1
        else:
            assert entry in published["scores"]


def test_what_is_published_as_shipped_is_what_the_families_say() -> None:
    for entry in json.loads(published_text())["scores"]:
        family, numbers = families()[entry["family"]], entry["numbers"]
        told = {**numbers, **numbers.get("stricter", {}), family.question.name: numbers}
        for question in (family.question, *family.numbers, *family.stricter):
            shipped = {name: one["shipped"] for name, one in told[question.name]["recipes"].items()}
            assert shipped == {name: name not in question.unshipped for name in question.recipes}, question.name


def test_only_the_public_function_is_shipped_for_mixtures(monkeypatch) -> None:
    for question in (group_mixtures.FAMILY.question, *group_mixtures.FAMILY.numbers):
        assert question.recipes.keys() - set(question.unshipped) == {group_mixtures.SHIPPED}
    settings = next(iter(group_mixtures.tasks()))
    shipped = group_mixtures.SIGNS[group_mixtures.SHIPPED]
    by_law = group_mixtures.SIGNS["law, true mixture"](settings, {})
    assert [one.answer for one in shipped(settings, {})] == [one.answer for one in by_law]
    group_mixtures._by_mixture.cache_clear()
    found = SimpleNamespace(facts=lambda: {"groups": [{"excess_risk": 1.0}] * settings["groups"]})
    monkeypatch.setattr(group_mixtures, "mixture", lambda problem, samples: found)
    assert {one.answer for one in shipped(settings, {})} == {None}  # the score is that of `lopsided.mixture`
    group_mixtures._by_mixture.cache_clear()


@pytest.mark.parametrize("asked", [["--json"], []])
def test_families_that_cannot_run_are_an_error_not_an_empty_list(capsys, tmp_path, asked) -> None:
    arguments = ["--family", "collapse-tail", "--data-dir", str(tmp_path), "--store", str(tmp_path / "store"), *asked]
    assert main(["skill", "--run", *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert "none of collapse-tail; needs mnist" in found.err
