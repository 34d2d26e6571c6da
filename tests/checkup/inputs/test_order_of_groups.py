"""The order in which columns of groups are given decides nothing: no finding, no gate, no remedy."""

import json

import numpy as np
import pytest

import lopsided
from lopsided.checkup.baseline import _key, changes
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.inputs.partitions import CROSS, MOST_INTERSECTIONS, group_partitions
from lopsided.checkup.inputs.training_set import training_set
from lopsided.cli.main import main


def people(seed: int = 0, rows: int = 900):
    """Features, labels and three columns of groups of which the second decides where a row lies."""
    random = np.random.default_rng(seed)
    groups = {name: random.choice(values, rows) for name, values in (("c", 2), ("a", 3), ("b", 4))}
    features = random.normal(size=(rows, 3)) * (1 + 0.8 * (groups["b"] == 3))[:, None]
    features[:, 0] += 1.2 * (groups["a"] == 0)
    labels = (features @ [1.0, 0.5, -0.5] + random.normal(size=rows) > 0.8).astype(int)
    chances = 1 / (1 + np.exp(-features @ [1.0, 0.5, -0.5]))
    return features, labels, groups, np.column_stack([1 - chances, chances])


def findings(found) -> dict:
    """By check and subject, whatever the order of crossed columns."""
    return {
        _key(one.id, one.subject): (one.level.value, one.value, one.interval)
        for one in found.findings
        if one.level.value != "healthy"
    }


def test_findings_and_their_intervals_are_the_same_in_any_order() -> None:
    features, labels, groups, chances = people()
    asked = {"labels": labels, "probabilities": chances}
    one = lopsided.audit(features, groups=groups, **asked)
    two = lopsided.audit(features, groups=dict(reversed(groups.items())), **asked)
    assert findings(one) == findings(two)
    assert any(check == "group_shift" for check, _ in findings(one))
    columns = [found.measures["group_mixture"]["columns"] for found in (one, two)]
    assert columns[0] == columns[1]
    assert columns[0].keys() == groups.keys()
    for found in (one, two):
        assert found.measures["group_shift"]["a"] == one.measures["group_shift"]["a"]


def test_a_gate_does_not_depend_on_the_order(tmp_path, monkeypatch, capsys) -> None:
    """More of one group of `b` hurts it; `a` says nothing. The column that came first used to decide."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(10)
    b, a = random.choice(["u", "v"], 3000, p=[0.85, 0.15]), random.choice(["s", "t"], 3000)
    near, far = random.normal(size=(3000, 2)), 0.4 * random.normal(size=(3000, 2)) + [3.0, 0.0]
    features = np.where((b == "u")[:, None], near, far)
    labels = np.where(features[:, 0] + 0.5 * random.normal(size=3000) > 0.8, "y", "n")
    rows = [
        "p,q,a,b,label",
        *(f"{p},{q},{one},{two},{y}" for (p, q), one, two, y in zip(features, a, b, labels, strict=True)),
    ]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    said = {}
    for order in ("a,b", "b,a"):
        command = ["audit", "d.csv", "--labels", "label", "--groups", order, "--no-report", "--json"]
        code = main([*command, "--checks", "group_mixture", "--fail-on", "at-risk"])
        facts = json.loads(capsys.readouterr().out)
        levels = {(one["id"], one["level"]) for one in facts["findings"]}
        said[order] = code, levels, facts["measures"]["group_mixture"]["columns"]
    assert said["a,b"] == said["b,a"]
    assert said["a,b"][0] == 1


def test_the_same_intersections_are_kept_of_many_columns() -> None:
    random = np.random.default_rng(0)
    columns = {name: random.integers(0, values, 300) for name, values in zip("uvwxyz", (2, 5, 3, 3, 4, 2), strict=True)}
    kept = []
    for order in (columns, dict(reversed(columns.items()))):
        parts, told = group_partitions(order, 300)
        kept.append({frozenset(name.split(CROSS)) for name in parts if CROSS in name})
        assert "4 of 16 intersections" in " ".join(told)
    assert kept[0] == kept[1]
    assert len(kept[0]) == MOST_INTERSECTIONS
    assert frozenset("vy") not in kept[0]  # the finest of the pairs


@pytest.mark.parametrize("small", [False, True], ids=["fine enough", "too fine"])
def test_a_plan_takes_the_same_partition(small: bool) -> None:
    features, labels, groups, _ = people(rows=150 if small else 900)
    two = {"b": groups["b"], "c": groups["c"]} if not small else {"a": groups["a"], "b": groups["b"]}
    chosen = [
        training_set(gather(features, labels=labels, groups=order)).groups
        for order in (two, dict(reversed(two.items())))
    ]
    assert set(chosen[0].name.split(CROSS)) == set(chosen[1].name.split(CROSS))
    assert CROSS in chosen[0].name or small


def test_a_baseline_knows_crossed_columns_in_any_order() -> None:
    features, labels, _, _ = people(3)
    rare = np.arange(900) % 36 == 0  # 25 rows in each of two cells, 425 in each of the others
    groups = {"a": np.arange(900) // 2 % 2 == 0, "b": (np.arange(900) // 2 % 2 == 0) != rare}
    made = [
        lopsided.audit(features, labels=labels, groups=order, checks=["counts"])
        for order in (groups, dict(reversed(groups.items())))
    ]
    assert any(CROSS in one.subject for one in made[0].findings if one.level.value != "healthy")
    found = changes(made[1].findings, made[1].checked.keys(), made[0].to_dict())
    assert not found.new
    assert not found.worse
    assert not found.gone
