"""The contract of every check: it runs on evidence that has what it needs, gives plain facts, and is the same twice."""

import json

import numpy as np
import pytest

from lopsided.checkup.audit import run_checks
from lopsided.checkup.checks import ORDER, all_checks
from lopsided.checkup.checks.finding import Finding, Level
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.gather import gather
from lopsided.core.figure import Figure
from lopsided.core.jsonable import dump_json

CHECKS = {check.id: check for check in all_checks()}


@pytest.fixture(scope="module")
def full() -> Evidence:
    """Three Gaussian classes with everything that can be given."""
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 200)
    means = 4 * np.eye(3, 6)
    features = means[labels] + random.standard_normal((600, 6))
    logits = features @ means.T
    return gather(
        features,
        labels=labels,
        groups={"sex": random.integers(0, 2, 600), "site": random.integers(0, 3, 600)},
        classifier=means,
        logits=logits,
        split=random.random(600) < 0.3,
        weight_decay=1e-3,
    )


def test_files_and_ids_agree() -> None:
    assert [check.id for check in all_checks()] == list(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_contract(full, name) -> None:
    check = CHECKS[name]
    assert check.needs <= full.has
    assert check.question.endswith("?")
    assert check.rule.endswith(".")
    result = check.ask(full, np.random.default_rng(1))
    again = check.ask(full, np.random.default_rng(1))
    assert result.findings
    assert dump_json(result.measures) == dump_json(again.measures)
    assert dump_json(list(result.findings)) == dump_json(list(again.findings))
    json.loads(dump_json(result.measures))
    for finding in result.findings:
        assert isinstance(finding, Finding)
        assert finding.id == name
        assert finding.message.endswith(".")
        assert finding.message[0].isupper() or finding.message[0].isdigit()
        assert finding.remedy.endswith(".")
        assert finding.subject
        assert finding.ground
        assert all(0 <= row < full.rows for row in finding.examples)
        if finding.interval is not None and finding.value is not None:
            low, high = finding.interval
            assert low <= high
            assert name == "collapse_forecast" or low - 1e-9 <= finding.value <= high + 1e-9
    assert all(isinstance(figure, Figure) for figure in result.figures)


@pytest.mark.parametrize("name", ORDER)
def test_skipped_with_what_to_provide(name) -> None:
    check = CHECKS[name]
    bare = Evidence("nothing", 3)
    result = run_checks(bare, checks=[name])
    assert not result.findings
    assert result.skipped[0].check == name
    for part in check.needs:
        assert part in result.skipped[0].why
    assert "provide" in result.skipped[0].why


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("kind", ["one class", "one example each", "constant", "one column", "tiny"])
def test_poor_evidence_declines_in_words(name, kind) -> None:
    """Nothing a user can bring ends in a traceback."""
    random = np.random.default_rng(3)
    n = 2 if kind == "tiny" else 40
    labels = (
        np.zeros(n, dtype=int)
        if kind == "one class"
        else np.arange(n)
        if kind == "one example each"
        else np.arange(n) % 2
    )
    features = np.ones((n, 3)) if kind == "constant" else random.standard_normal((n, 1 if kind == "one column" else 3))
    K = int(labels.max()) + 1
    evidence = gather(
        features,
        labels=labels,
        groups={"g": np.arange(n) % 2},
        classifier=random.standard_normal((K, features.shape[1])),
        logits=random.standard_normal((n, K)),
        split=np.arange(n) >= n // 2,
        weight_decay=1e-2,
    )
    result = run_checks(evidence, checks=[name])
    assert result.findings or result.skipped[0].why.startswith("declined")


def test_facts(full) -> None:
    result = run_checks(full, checks=["counts", "class_accuracy", "group_accuracy"])
    assert result.level is Level.HEALTHY
    assert result.passed("at risk")
    facts = json.loads(result.to_json())
    assert {"findings", "skipped", "measures", "seconds"} <= facts.keys()
    assert {"id", "level", "subject", "value", "interval", "message", "remedy"} <= facts["findings"][0].keys()
    frame = result.frame()
    assert list(frame["id"]) == [finding["id"] for finding in facts["findings"]]
    accuracy = facts["measures"]["class_accuracy"]["accuracy"]
    rows = full.is_test
    assert accuracy["value"] == np.mean(full.predictions[rows] == full.classes.codes[rows])
    assert "every example" in accuracy["weighting"]
