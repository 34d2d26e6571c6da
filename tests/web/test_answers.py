"""What the rooms answer is what the package computes, and the recipes they show give the same numbers."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

import lopsided
from lopsided.core.jsonable import jsonable
from lopsided.core.published_skill import skill_sentence
from lopsided.web.app import ServerSettings, create_app
from lopsided.web.limits import Limits
from lopsided.web.rooms.collapse import anchors, shadow
from tests.faults.console import say


@pytest.fixture(scope="module")
def local():
    return TestClient(create_app(ServerSettings(spare_worker=False)), base_url="http://localhost")


def ask(local, path, **body):
    answer = local.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def plain(facts):
    return {name: value for name, value in facts.items() if name != "seconds"}


def run_recipe(recipe, folder, *, with_python=True, fresh=False):
    """(what the Python prints, what the command line prints), each run in this folder.

    `fresh` in processes of their own, through a shell; otherwise in this one, which spares the imports: scripts in a
    namespace of their own, and the words of one command. What needs more of a shell than that always gets one.
    """
    first = re.fullmatch(r"python - <<'EOF'\n(.*)\nEOF\n(.*)", recipe["command"], re.DOTALL)
    script, command = first.groups() if first else ("", recipe["command"])
    if fresh or not command.startswith("lopsided ") or set(command) & set("|;&<>$`*\n"):
        return _fresh(recipe, folder, with_python)
    python = _printed(recipe["python"], folder) if with_python else ""
    before = _printed(script, folder)
    said = say(shlex.split(command)[1:], folder)
    assert (said.code, said.broke) == (0, None), said
    return python, before + said.out


def _printed(script, folder):
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(script, "recipe", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def _fresh(recipe, folder, with_python):
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    for name, words in (("lopsided", "-m lopsided "), ("python", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (tools / name).chmod(0o755)
    source = str(Path(lopsided.__file__).parents[1])
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": source}
    options = {"capture_output": True, "text": True, "check": True, "cwd": folder, "env": environment}
    python = subprocess.run([sys.executable, "-c", recipe["python"]], **options).stdout if with_python else ""
    return python, subprocess.run(["sh", "-c", recipe["command"]], **options).stdout


def test_collapse_answers_and_recipe(local, tmp_path) -> None:
    body = {"counts": "900*2,300,8*3", "weight_decay": 0.004, "features": "relu"}
    found = ask(local, "/api/collapse/forecast", **body)
    expected = lopsided.collapse("900*2,300,8*3", weight_decay=0.004, features="relu")
    assert found["facts"]["count_needed"] == expected.count_needed
    assert [k for k, row in enumerate(found["classes"]) if row["collapsed"]] == expected.collapsed
    python, command = run_recipe(found["recipe"], tmp_path, fresh=True)
    assert plain(json.loads(command)) == plain(found["facts"])
    assert repr(found["facts"]["count_needed"]) in python


def test_drafts_start_from_the_page_and_stay_certified(local) -> None:
    first = ask(local, "/api/collapse/forecast", counts="900,500,300,80,9,8", tau=12, page="a")
    draft = ask(local, "/api/collapse/forecast", counts="900,500,310,80,9,8", tau=12, page="a", draft=True)
    rest = ask(local, "/api/collapse/forecast", counts="900,500,310,80,9,8", tau=12, page="a")
    assert first["facts"]["relative_gap"] < 1e-10
    assert draft["facts"]["relative_gap"] < 1e-6
    assert plain(rest["facts"]) == plain(jsonable(lopsided.collapse("900,500,310,80,9,8", tau=12).to_dict()))
    # A gap of 1e-6 leaves about its square root in the multiplier.
    assert draft["facts"]["count_needed"] == pytest.approx(rest["facts"]["count_needed"], rel=1e-3)


def test_a_hurried_draft_says_how_rough_it_is(local, monkeypatch) -> None:
    from lopsided.web.rooms import collapse as room

    monkeypatch.setattr(room, "DRAFT_SECONDS", -1.0)
    body = {"tau": 60, "page": "hurry"}
    first = ask(
        local, "/api/collapse/forecast", counts=",".join(str(500 - 9 * k) for k in range(40)), draft=True, **body
    )
    assert not first["draft"]  # with nothing to start from it is solved in full
    moved = ",".join(str(500 - 9 * k + 40 * (k == 20)) for k in range(40))
    draft = ask(local, "/api/collapse/forecast", counts=moved, draft=True, **body)
    assert draft["draft"]
    assert draft["facts"]["status"].startswith("stopped early")
    assert 1e-6 < draft["facts"]["relative_gap"] < 1e-3
    rest = ask(local, "/api/collapse/forecast", counts=moved, **body)
    # A gap of 1e-3 leaves about its square root in the multiplier.
    assert draft["facts"]["count_needed"] == pytest.approx(rest["facts"]["count_needed"], rel=3e-2)


def test_the_cure_takes_over_the_forecast_of_the_page(local, monkeypatch) -> None:
    """Same plan with and without it, and one long solve less."""
    from lopsided.theory.layer_peeled.solve import Model

    made, solve = [], Model.solve
    monkeypatch.setattr(Model, "solve", lambda self, *given: made.append(given[0].tolist()) or solve(self, *given))
    body = {"counts": "900,500,310,80,9,8", "tau": 12}
    alone = ask(local, "/api/collapse/cure", **body)
    made_alone = len(made)
    ask(local, "/api/collapse/forecast", **body, page="cured")
    made.clear()
    assert ask(local, "/api/collapse/cure", **body, page="cured") == alone
    assert len(made) == made_alone - 1
    # A draft is not as exact as the plan asks for, so nothing is taken over from it.
    ask(local, "/api/collapse/forecast", counts="900,500,300,80,9,8", tau=12, page="cured")
    ask(local, "/api/collapse/forecast", **body, page="cured", draft=True)
    made.clear()
    assert ask(local, "/api/collapse/cure", **body, page="cured") == alone
    assert len(made) == made_alone


def test_cure_is_the_plan_of_the_command(local, tmp_path) -> None:
    body = {"counts": "5000*5,50*5", "feature_energy": 5, "weight_energy": 1}
    found = ask(local, "/api/collapse/cure", **body)
    plan = lopsided.collapse("5000*5,50*5", feature_energy=5, weight_energy=1, plan=True).plan
    assert found["rates"] == plan.oversampling.rates.tolist()
    assert found["collapsed_after"] == []
    python, command = run_recipe(found["recipe"], tmp_path)
    assert json.loads(command)["plan"]["oversampling"]["rates"] == found["rates"]
    assert repr(found["level"]) in python
    impossible = ask(local, "/api/collapse/cure", counts="50*5,5*5", multiplier=0.5)
    assert not impossible["possible"]
    assert "equal class sizes" in impossible["why_not"]


def test_groups_answers_and_recipe(local, tmp_path) -> None:
    groups = [{"share": 0.6}, {"share": 0.6, "mean": [2, 1], "deviations": [1.5, 0.5], "correlation": 0.3}]
    found = ask(local, "/api/groups/forecast", groups=groups, samples=2500)
    assert [group["fraction"] for group in found["facts"]["groups"]] == [0.5, 0.5]
    assert len(found["sweep"]["panels"][0]["data"]) == 2
    assert found["skill"] == skill_sentence("more of a group")
    python, command = run_recipe(found["recipe"], tmp_path)
    assert plain(json.loads(command)) == plain(found["facts"])
    assert repr(found["facts"]["groups"][1]["excess_risk"]) in python


def test_fraction_sweep_agrees_with_the_forecast_at_this_fraction(local) -> None:
    from lopsided.core.mixture_file import mixture_problem
    from lopsided.theory.fisher_law import FisherLaw
    from lopsided.web.rooms.groups import GroupsProblem

    asked = GroupsProblem(groups=[{"share": 0.7}, {"share": 0.3, "mean": [1, 1]}])
    problem = mixture_problem(asked.specification())
    (law,) = FisherLaw(problem).over_fractions(1000, 1, [0.3])
    direct = lopsided.mixture(problem, 1000)
    # Rescaling the other group's fraction rounds once.
    expected = [group.excess_risk for group in direct.law.groups]
    assert [group.excess_risk for group in law.groups] == pytest.approx(expected, rel=1e-12)


def test_simulated_groups_lie_about_the_law_each_fraction_on_its_own() -> None:
    from lopsided.core.mixture_file import mixture_problem
    from lopsided.theory.fisher_law import FisherLaw
    from lopsided.web.rooms.groups import GroupsProblem, simulated_at

    second = {"share": 0.2, "mean": [2, 1], "deviations": [1.7, 0.8], "correlation": 0.3}
    problem = mixture_problem(GroupsProblem(groups=[{"share": 0.7}, second]).specification())
    (forecast,) = FisherLaw(problem).over_fractions(3000, 1, [0.2])
    law = np.array([group.excess_risk for group in forecast.groups])
    found, again = (simulated_at(problem, 3000, 1, part, repeats=80, seed=1) for part in (0.2, 0.2 + 1e-9))
    error = np.hypot(found.error, again.error)
    for one in (found, again):
        # Four standard errors, and the 1/n^2 terms that the law leaves out (the weight error is 0.15 here).
        assert np.all(np.abs(np.array(one.mean) - law) < 4 * np.array(one.error) + 0.1 * law)
    # Common samples would give the same means to nine digits; fresh ones differ by about a standard error.
    assert np.any(np.abs(np.array(found.mean) - again.mean) > 0.05 * error)


def test_words_about_the_overlay_come_from_the_distances() -> None:
    from lopsided.web.rooms.groups import REPEATS, SIMULATED, _agreement

    runs = REPEATS * len(SIMULATED)
    words = _agreement([0.5, 1.9, 3.25], runs, 3000, 3000)
    assert words.startswith("2 of 3 means lie within two standard errors")
    assert "farthest is 3.2 away" in words
    assert "left out" not in words
    assert "scaled by 1/n" not in words
    words = _agreement([0.5], runs - 7, 20_000, 90_000)
    assert f"7 of {runs} networks" in words
    assert "n = 20,000 and scaled" in words
    assert _agreement([], 0, 100, 100).startswith("No network")


def test_width_job_gives_the_numbers_of_an_unwatched_run(local, tmp_path) -> None:
    from lopsided.web.rooms.width import WidthProblem, run
    from lopsided.worlds.wide_runs import measure_run

    asked = WidthProblem(width=60, dimension=40, steps=24, classes=3, train=60, test=60)
    news = []
    found = run(asked.model_dump(), lambda **message: news.append(message))
    expected = measure_run(asked.settings(), asked.seed)
    assert found == expected
    sent = [message["data"] for message in news if "data" in message]
    assert [record["accuracy"] for record in sent] == expected["accuracy"]
    # Subspace iteration converges to the singular values of the update, which has rank 6 up to noise.
    assert sent[-1]["update_values"][0] == pytest.approx(expected["update_values"][0], rel=1e-4)
    python, command = run_recipe(ask(local, "/api/width/recipe", **asked.model_dump()), tmp_path)
    assert python == command
    assert str(expected["distance"][-1]) in python


def test_memorisation_recipes(local, tmp_path) -> None:
    from lopsided.web.rooms.memorisation import PhaseProblem, score_examples, train_here

    asked = PhaseProblem(feature_norm=2.0, ratio=20, dimension=60)
    found = train_here(asked.model_dump(), lambda **message: None)
    python, command = run_recipe(ask(local, "/api/memorisation/phase", **asked.model_dump())["recipe"], tmp_path)
    assert python == command
    assert repr(found["bayes"]) in python
    scored = score_examples({"asked": {"builtin": "digits", "per_class": 30}, "data": None}, lambda **message: None)
    python, command = run_recipe(scored["recipe"], tmp_path, fresh=True)
    told = json.loads(command)["classes"]
    assert [entry["highest"] for entry in told] == [entry.highest for entry in scored["classes"]]
    assert repr(scored["classes"][0].highest) in python


def test_audit_of_a_builtin_set_and_its_recipe(tmp_path) -> None:
    from lopsided.web.rooms.audit import run

    found = run({"asked": {"builtin": "long-tailed digits"}}, lambda **message: None)
    assert found["report"].lstrip().startswith("<!doctype html>")
    _, command = run_recipe(found["recipe"], tmp_path, with_python=False)  # an audit takes seconds; one more will do
    told = json.loads(command)
    assert [entry["message"] for entry in told["findings"]] == [
        entry["message"] for entry in found["facts"]["findings"]
    ]


def test_recipes_of_uploads_give_the_numbers_of_the_jobs(tmp_path) -> None:
    from lopsided.web.rooms.audit import run as audit
    from lopsided.web.rooms.memorisation import score_examples
    from lopsided.web.rooms.trial import run as trial

    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [60, 30, 12])
    lines = [
        f"{x:.4f},{y:.4f},{'north' if x > y else 'south'},{k}"
        for (x, y), k in zip(random.normal(size=(102, 2)) + labels[:, None], labels, strict=True)
    ]
    kept = tmp_path / "0123abcd.csv"
    kept.write_text("\n".join(["a,b,region,kind", *lines]))
    (tmp_path / "my data.csv").write_bytes(kept.read_bytes())  # as the client has it, name with a blank
    upload = {"path": str(kept), "name": "my data.csv", "most_rows": 1000}
    asked = {"labels": "kind", "groups": ["region"], "weight_decay": 0.001, "seed": 3}
    found = audit({"asked": asked, "upload": upload}, lambda **message: None)
    _, command = run_recipe(found["recipe"], tmp_path, with_python=False)
    told, expected = json.loads(command), jsonable(found["facts"])
    assert told["findings"] == expected["findings"]
    assert "0123abcd" not in json.dumps(expected)
    said = []
    asked = {"labels": "kind", "groups": ["region"], "metric": "balanced", "folds": 3, "repeats": 1, "seed": 3}
    given = {"asked": asked, "upload": upload, "store": str(tmp_path / "trials")}
    found = trial(given, lambda **message: said.append(message))
    _, command = run_recipe(found["recipe"], tmp_path, with_python=False)
    told, expected = json.loads(command), jsonable(found["facts"])
    assert told["arms"] == expected["arms"]
    assert expected.keys() <= told.keys()  # the contract of `trial --json`
    assert {told["source"].rpartition("/")[2], expected["source"]} == {"my data.csv"}
    assert "0123abcd" not in json.dumps(expected) + found["report"] + json.dumps(found["about"])
    assert said[-1]["done"] == said[-1]["total"] > 0
    assert trial(given, lambda **message: None)["facts"]["reused"] == said[-1]["total"]  # folds are kept
    found = score_examples({"asked": {"labels": "kind"}, "upload": upload, "data": None}, lambda **message: None)
    python, command = run_recipe(found["recipe"], tmp_path, fresh=True)  # a shell and the blank in the name
    assert [entry["highest"] for entry in json.loads(command)["classes"]] == [one.highest for one in found["classes"]]
    assert repr(found["classes"][0].highest) in python


def test_choices_of_a_trial_are_those_of_the_package(local) -> None:
    from lopsided.learners.named_learner import BUILT_IN
    from lopsided.measure.metrics import METRICS
    from lopsided.web.rooms.files import builtin

    found = local.get("/api/trial/choices").json()
    assert found["learners"] == list(BUILT_IN)
    assert found["metrics"] == {word: metric.name for word, metric in METRICS.items()}
    for name, sizes in found["sets"].items():
        arrays = builtin(name)
        split = arrays.get("split", np.full(len(arrays["labels"]), "train"))
        assert list(sizes.values()) == np.bincount(arrays["labels"][split == "train"]).tolist()
    refused = local.post("/api/trial/run", json={"learner": "os:abort"})  # no class of this machine by name
    assert refused.status_code == 422


def test_the_long_tail_is_that_of_load_example() -> None:
    from lopsided.web.rooms.files import builtin

    table, arrays = lopsided.load_example("long-tailed digits"), builtin("long-tailed digits")
    assert table["digit"].to_pylist() == arrays["labels"].astype(str).tolist()
    assert table["split"].to_pylist() == arrays["split"].tolist()
    np.testing.assert_array_equal(table["pixel_3_4"], arrays["features"][:, 3 * 8 + 4])


def test_claims_are_those_of_the_command(tmp_path) -> None:
    local = TestClient(create_app(ServerSettings(store=tmp_path, spare_worker=False)), base_url="http://localhost")
    listed = local.get("/api/claims").json()["claims"]
    assert [line["id"] for line in listed] == [line.id for line in lopsided.claims(store=tmp_path)]
    page = local.get("/api/claims/lp-limit").json()
    assert not page["line"]["own"]
    assert (page["figure"] is None) == (page["line"]["time"] is None)  # what ships is drawn
    assert page["recipe"]["command"] == "lopsided reproduce lp-limit --json"
    run = lopsided.reproduce(["lp-limit"], store=tmp_path, jobs=1)
    page = local.get("/api/claims/lp-limit").json()
    assert page["line"]["own"]
    assert page["line"]["verdict"] == run.claims[0].verdict
    assert [one[0] for one in page["sets"]] == ["seed set 0 (1 seed)"]
    assert page["figure"]["panels"]
    assert local.get("/api/claims/lp-nothing").status_code == 404


def test_too_many_classes_and_too_long_a_computation_end_in_a_sentence() -> None:
    short = TestClient(
        create_app(ServerSettings(limits=Limits(classes=300, request_seconds=0.05), spare_worker=False)),
        base_url="http://localhost",
    )
    assert (
        "at most 300 classes"
        in short.post("/api/collapse/forecast", json={"counts": "5*301", "tau": 9}).json()["error"]
    )
    assert (
        "at most 300" in short.post("/api/collapse/forecast", json={"counts": "5*999999999", "tau": 9}).json()["error"]
    )
    slow = ",".join(str(900 - k) for k in range(200))
    answer = short.post("/api/collapse/forecast", json={"counts": slow, "tau": 200})
    assert (answer.status_code, "Stopped after" in answer.json()["error"]) == (503, True)


def test_shadow_of_a_simplex_frame_is_the_anchors_and_equal_rows_coincide() -> None:
    frame = np.eye(7) - 1 / 7
    cast = shadow(frame)
    wanted = anchors(7) / np.linalg.norm(anchors(7), axis=1).max()
    np.testing.assert_allclose(cast, wanted, atol=1e-12)  # rounding of a 7 x 7 product
    turned = np.random.default_rng(0).normal(size=(7, 5))
    turned[6] = turned[5]
    cast = shadow(turned)
    np.testing.assert_allclose(cast[5], cast[6], atol=1e-14)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    np.testing.assert_allclose(shadow(turned @ rotation), cast, atol=1e-12)  # no choice of axes
    assert np.all(shadow(np.zeros((3, 2))) == 0)
