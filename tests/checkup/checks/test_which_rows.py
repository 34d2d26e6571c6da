"""Which rows and classes a check looks at depends on the data, not on names or on the order of rows."""

import numpy as np
import pytest

import lopsided
from lopsided.checkup.checks import contamination, noise_ratios
from lopsided.checkup.inputs.feature_space import chosen_rows
from lopsided.checkup.inputs.gather import gather


def alike(classes: int, each: int, seed: int = 0):
    """Classes of one size, every pair of which has swapped a sixth of its rows; some are narrow."""
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), each)
    centres = 30 * random.normal(size=(classes, 3))
    features = centres[labels] + random.normal(size=(labels.size, 3)) * np.where(labels % 3 == 0, 0.2, 2.0)[:, None]
    return features, np.where(np.arange(labels.size) % each < each // 6, labels ^ 1, labels)


def verdicts(found, names) -> dict:
    """(level, value) of every finding by check and subject, under the classes' first names, and what was measured."""
    first = {f"class {name}": f"class {code}" for code, name in enumerate(names)}
    facts = {
        (one.id, first.get(one.subject, one.subject)): (one.level, one.value and round(one.value, 9))
        for one in found.findings
    }
    for check, measures in found.measures.items():
        asked = {first[f"class {name}"] for name in measures.get("classes", ())}
        facts[check, "classes"] = frozenset(asked)
    return facts


@pytest.mark.parametrize(("check", "classes", "each"), [("contamination", 10, 60), ("noise_ratios", 14, 12)])
def test_the_same_classes_are_checked_under_other_names(monkeypatch, check, classes, each) -> None:
    monkeypatch.setattr(contamination, "MOST_CLASSES", 6)
    monkeypatch.setattr(noise_ratios, "MOST_CLASSES", 6)
    features, labels = alike(classes, each)
    random = np.random.default_rng(1)
    plain, names = None, [f"c{code:02d}" for code in range(classes)]
    for number in range(4):
        rows = random.permutation(labels.size) if number > 1 else np.arange(labels.size)
        found = lopsided.audit(features[rows], labels=np.array(names)[labels[rows]], checks=[check])
        assert len(found.measures[check]["classes"]) == 6
        told = verdicts(found, names)
        if check == "contamination":  # six of five pairs are at least one whole pair
            assert any(one.level.value != "healthy" for one in found.findings)
        plain = plain or told
        assert told == plain
        random.shuffle(names)


def test_the_rows_of_a_sample_do_not_depend_on_their_order() -> None:
    random = np.random.default_rng(0)
    labels = random.choice(5, 3000, p=[0.6, 0.2, 0.1, 0.07, 0.03])
    features = np.where(random.random(3000) < 0.5, random.integers(0, 4, 3000), random.normal(size=3000))[:, None]
    plain = gather(features, labels=labels)
    for most in (5, 400, 2999):
        chosen = chosen_rows(plain, most)
        held = sorted(zip(labels[chosen], features[chosen, 0], strict=True))
        for seed in (1, 2):
            order = np.random.default_rng(seed).permutation(3000)
            other = gather(features[order], labels=np.array(list("vwxyz")[::-1])[labels[order]])
            again = order[chosen_rows(other, most)]
            assert sorted(zip(labels[again], features[again, 0], strict=True)) == held
    other = gather(features, labels=labels, seed=1)
    assert not np.array_equal(chosen_rows(plain, 400), chosen_rows(other, 400))


def test_equal_rows_are_drawn_as_often_as_they_occur() -> None:
    """Nine of ten rows are zero; 3 standard errors of a share in 1000 drawn rows are 0.03."""
    features = np.where(np.arange(10_000) % 10 == 0, np.arange(10_000), 0.0)[:, None]
    chosen = chosen_rows(gather(features, labels=np.arange(10_000) // 5000), 1000)
    assert abs((features[chosen, 0] == 0).mean() - 0.9) < 0.03


@pytest.mark.parametrize("place", [0, 2500, 4999])
def test_one_coinciding_pair_among_many_rows_is_found_wherever_it_stands(place) -> None:
    features = np.random.default_rng(0).normal(size=(5000, 3))
    labels = np.arange(5000) % 2
    features[(place + 2501) % 5000] = features[place]  # of the other class
    (found,) = lopsided.audit(features, labels=labels, checks=["separability"]).findings
    assert found.level.value == "at risk"
    assert set(found.examples) == {place, (place + 2501) % 5000}
    assert "2 of 5,000 training rows" in found.message
    features[place] += 1e-9
    assert lopsided.audit(features, labels=labels, checks=["separability"]).passed("at-risk")
