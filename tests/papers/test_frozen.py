"""Rules are frozen before they are confirmed, and the evidence that ships is what the present rules say of it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.jsonable import jsonable
from lopsided.core.statistics import Uncertain, seed_mean
from lopsided.engine.store import Store
from lopsided.engine.task import Row
from lopsided.papers.claim import SET_SIZE, Outcome, Part, Power, Runs, weigh
from lopsided.papers.evidence import ShippedEvidence, pack, shipped, unpack
from lopsided.papers.frozen import AWAITING, frozen, rule_hash
from lopsided.papers.judging import confirms
from lopsided.papers.register import ClaimStatus, claims, load_claim, register
from lopsided.papers.reproduce import expand, rejudged, reproduce
from tests.engine.conftest import TOYS

FILES = {claim_id: entry for claim_id, entry in register().items() if entry.home is not None}
TOY = str(TOYS / "toy_sum.py")


def test_no_rule_changes_without_a_new_confirmation() -> None:
    """papers/ship writes the table: a rule that has changed awaits confirmation until `reproduce --confirm` has run."""
    table = frozen()
    assert list(table) == list(FILES)
    for claim_id, entry in FILES.items():
        assert entry.claim is not None
        rule = rule_hash(entry.claim, str(entry.home))
        assert table[claim_id]["rule"] == rule, f"the rule of {claim_id} has changed: run papers/ship"
        confirmed = any(
            found.record["rule"] == rule and found.record["confirmation"] is not None for found in shipped(claim_id)
        )
        assert confirmed == (table[claim_id]["status"] != AWAITING), f"{claim_id}: run papers/ship"


def test_a_verdict_whose_rule_has_changed_is_shown_as_exploratory(tmp_path: Path) -> None:
    table = frozen()
    for line in claims(store=tmp_path):
        assert line.time is None or line.exploratory == (table[line.id]["status"] == AWAITING), line.id


@pytest.mark.parametrize("claim_id", sorted(claim_id for claim_id in FILES if shipped(claim_id)))
def test_the_evidence_that_ships_is_judged_by_the_present_rule(claim_id: str) -> None:
    claim, home = FILES[claim_id].claim, FILES[claim_id].home
    assert claim is not None
    for found in shipped(claim_id):
        if found.record["rule"] != rule_hash(claim, str(home), found.record["scale"]):
            continue  # its rule has changed since; the table above says that it awaits confirmation
        verdict = claim.judge(found.rows)
        assert verdict.outcome.value == found.record["verdict"]
        by_set = {one["set"]: one for one in found.record["sets"]}
        assert found.record["seed_sets"]["of"] == len(by_set)
        assert {row.seed // SET_SIZE for row in found.rows} == set(by_set)


def test_packing_keeps_every_number() -> None:
    rows = [Row({"x": x, "y": [1, None]}, seed, {"a": 0.1 + x, "b": {"c": None}}) for x in (1, 2) for seed in (0, 1)]
    again = unpack(pack({"id": "toy"}, rows))
    assert (again.record, list(again.rows)) == ({"id": "toy"}, rows)
    assert pack({"id": "toy"}, rows) == pack({"id": "toy"}, rows)


def test_seed_sets_share_no_seed_and_the_default_is_the_plan() -> None:
    plan = Runs([{}], seeds=range(3))
    assert list(plan.of_set(0).seeds) == [0, 1, 2]
    assert list(plan.of_set(2).seeds) == [2 * SET_SIZE, 2 * SET_SIZE + 1, 2 * SET_SIZE + 2]
    assert list(Runs([{}], seeds=(4, 1)).of_set(0, 4).seeds) == [4, 1, 0, 2]
    assert list(plan.of_set(1, 1).seeds) == [SET_SIZE]
    for number, count in ((0, 0), (0, SET_SIZE + 1), (-1, None)):
        with pytest.raises(InputError):
            plan.of_set(number, count)


def test_the_hash_sees_rule_and_settings_and_not_words(tmp_path: Path) -> None:
    home = tmp_path / "toy_sum.py"

    def hash_of(text: str) -> str:
        home.write_text(text, encoding="utf-8")
        return rule_hash(load_claim(str(home)), str(home))

    text = Path(TOY).read_text(encoding="utf-8")
    first = hash_of(text)
    for old, new, same in (
        ("def judge(", "# a comment\ndef judge(", True),
        ('rule="every value', 'rule="each value', True),
        ('"Sums"', '"Totals"', True),
        ("def judge(rows: list[Row])", "def judge(rows: list)", True),
        ("if wrong else", "if wrong > 1 else", False),
        ("range(6)", "range(7)", False),
        ('+ seed, "threads"', '+ 2 * seed, "threads"', False),
    ):
        assert old in text
        assert (hash_of(text.replace(old, new)) == first) == same, new


def test_sets_are_pooled_and_a_confirmation_belongs_to_the_rule_it_was_run_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOPSIDED_CLAIMS", str(TOYS))
    first = reproduce(["toy-sum"], jobs=1, store=tmp_path).claims[0]
    assert (first.seed_sets, first.exploration, first.confirmation) == ({"same": 1, "of": 1}, "holds", None)
    second = reproduce(["toy-sum"], jobs=1, store=tmp_path, confirm=True).claims[0]
    assert [one["set"] for one in second.sets] == [0, 1]
    assert (second.seed_sets, second.confirmation) == ({"same": 2, "of": 2}, "holds")
    assert second.seeds == [0, 1, SET_SIZE, SET_SIZE + 1]
    assert second.numbers["rows"] == 24
    third = reproduce(["toy-sum"], jobs=1, store=tmp_path, seed_set=3, seeds=1).claims[0]
    assert third.numbers["rows"] == 30
    assert confirms(1, "a", "a")
    assert not confirms(1, "a", "b")  # judged by another rule than it was run for: exploration
    assert not confirms(0, "a", "a")
    with pytest.raises(InputError):
        reproduce(["toy-sum"], store=tmp_path, confirm=True, seed_set=1)
    assert len(Store(tmp_path).verdicts()) == 1
    assert {task.seed for task in expand(load_claim(TOY), TOY, "quick", 3, 1)} == {3 * SET_SIZE}


def test_what_ships_is_shown_until_there_is_an_own_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOPSIDED_CLAIMS", str(TOYS))
    made = reproduce(["toy-sum"], jobs=1, store=tmp_path / "made")
    record = {**jsonable(made.claims[0]), "verdict": "partly", "provenance": {"lopsided": "9.9"}, "seconds": 8.0}
    ships = (ShippedEvidence(record, made.rows["toy-sum"]),)
    monkeypatch.setattr("lopsided.papers.register.shipped", lambda claim_id: ships if claim_id == "toy-sum" else ())

    def line() -> ClaimStatus:
        return next(one for one in claims(store=tmp_path / "own") if one.id == "toy-sum")

    assert (line().verdict, line().own, line().lopsided, line().seeds) == ("partly", False, "9.9", 2)
    assert line().exploratory
    assert line().seconds == 8.0  # both seeds of the plan, so nothing is scaled
    reproduce(["toy-sum"], jobs=1, store=tmp_path / "own")
    assert (line().verdict, line().own) == ("holds", True)
    (verdict,) = (tmp_path / "own" / "verdicts").iterdir()
    damaged = json.loads(verdict.read_text()) | {"sets": [{"set": "x"}], "parts": 3, "seed_sets": [], "provenance": 1}
    verdict.write_text(json.dumps(damaged))
    assert (line().verdict, line().seed_sets, line().parts) == ("holds", None, [])
    again = reproduce(["toy-sum"], jobs=1, store=tmp_path / "own").claims[0]
    assert (again.verdict, again.seed_sets) == ("holds", {"same": 1, "of": 1})


def test_a_set_that_ships_is_kept_beside_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOPSIDED_CLAIMS", str(TOYS))
    made = reproduce(["toy-sum"], jobs=1, store=tmp_path / "made")
    ships = (ShippedEvidence(jsonable(made.claims[0]), made.rows["toy-sum"]),)
    reproduce(["toy-sum"], jobs=1, store=tmp_path / "new", seed_set=2)
    monkeypatch.setattr("lopsided.papers.reproduce.shipped", lambda claim_id: ships)
    ((record, rows),) = rejudged(Store(tmp_path / "new"))
    assert [(one["set"], one["role"]) for one in record.sets] == [(0, "exploration"), (2, "confirmation")]
    assert {row.seed // SET_SIZE for row in rows} == {0, 2}
    assert record.seed_sets == {"same": 2, "of": 2}
    changed = replace(ships[0], record={**ships[0].record, "rule": "another"})
    monkeypatch.setattr("lopsided.papers.reproduce.shipped", lambda claim_id: (changed,))
    ((record, _),) = rejudged(Store(tmp_path / "new"))
    assert [one["set"] for one in record.sets] == [2]


def _parts(words: str) -> Sequence[Part]:
    made = {
        "h": Part("h", True),
        "f": Part("f", False),
        "c": Part("c", False, opposite=True),
        "u": Part("u", False, power=Power(2.0, 1.0)),
    }
    return [replace(made[letter], name=f"{letter}{place}") for place, letter in enumerate(words)]


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("hhh", Outcome.HOLDS),
        ("hhf", Outcome.PARTLY),
        ("hfff", Outcome.FAILS),
        ("hhcc", Outcome.PARTLY),
        ("ccf", Outcome.CONTRADICTED),
        ("hhu", Outcome.UNRESOLVED),
        ("huff", Outcome.UNRESOLVED),
        ("uuu", Outcome.UNRESOLVED),
        ("", Outcome.FAILS),
    ],
)
def test_a_claim_from_its_parts(words: str, outcome: Outcome) -> None:
    assert weigh(_parts(words), "found", {}).outcome is outcome


def test_the_share_for_partly_is_the_rules_own() -> None:
    assert weigh(_parts("hhf"), "found", {}, share=0.9).outcome is Outcome.FAILS
    assert weigh(_parts("hfff"), "found", {}, share=0.25).outcome is Outcome.PARTLY


def test_power_comes_from_the_spread_over_seeds() -> None:
    wide, narrow = seed_mean([-1.0, 2.0, 0.5]), seed_mean([0.49, 0.5, 0.51])
    assert Part.effect("small against the spread", wide, 0.5).outcome is Outcome.UNRESOLVED
    assert Part.effect("seen", narrow, 0.5).outcome is Outcome.HOLDS
    assert Part.effect("the opposite", narrow, -0.5).outcome is Outcome.CONTRADICTED
    assert Part.effect("could have been seen, and was not", seed_mean([-0.01, 0.0, 0.01]), 0.5).outcome is Outcome.FAILS
    assert Part.effect("larger than claimed, and clear", narrow, 0.001).outcome is Outcome.HOLDS
    assert Part.near("too wide to say near", wide, 0.5, 0.2).outcome is Outcome.UNRESOLVED
    assert Part.effect("by a standard error", Uncertain(1.0, 0.1), 1.0).outcome is Outcome.HOLDS
    assert Part.effect("by a standard error", Uncertain(1.0, 1.0), 1.0).outcome is Outcome.UNRESOLVED


def test_an_effect_as_large_as_detects_is_seen_four_times_in_five() -> None:
    """Simulated with a known deviation of 1: the standard error of 4000 draws is 0.006, and the sum of two quantiles
    stands for the non-central one, which costs up to 0.02 at six seeds."""
    samples = np.random.default_rng(0).normal(size=(4000, 6))
    first = seed_mean(samples[0])
    reach = first.detects / first.deviation
    assert abs(np.mean([seed_mean(sample + reach).low > 0 for sample in samples]) - 0.8) < 0.04
