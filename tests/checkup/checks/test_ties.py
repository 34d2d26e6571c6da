"""What is equal is told apart by what is known of it, not by names."""

import numpy as np
import pytest

import lopsided


def findings(labels, checks, rename, **given):
    random = np.random.default_rng(3)
    features = random.normal(size=(len(labels), 4)) + 0.7 * labels[:, None]
    names = np.array(rename)
    given = {key: names[value] if key == "predictions" else value for key, value in given.items()}
    found = lopsided.audit(features, labels=names[labels], checks=checks, **given)
    # sums over classes in another order differ in the last digits
    return sorted((one.id, one.level.value, np.round([one.value, *one.interval], 9).tolist()) for one in found.findings)


@pytest.mark.parametrize("check", ["class_accuracy", "label_leaks", "noise_ratios"])
def test_classes_may_have_any_names(check) -> None:
    labels = np.repeat([0, 1, 2], (300, 90, 40))
    given = {"predictions": labels} if check == "class_accuracy" else {}  # all right: every class is the worst
    plain = findings(labels, [check], ("ant", "bee", "cat"), **given)
    for names in (("cat", "bee", "ant"), ("bee", "cat", "ant"), ("zebra", "x", "0")):
        assert findings(labels, [check], names, **given) == plain


def test_of_groups_with_the_same_rate_the_surest_is_compared() -> None:
    labels = np.repeat([1, 0], 420)
    predictions = labels.copy()
    predictions[210:250] = 0  # of the third group; the others have no errors
    found = []
    for names in (("a", "b", "c"), ("b", "a", "c"), ("z", "b", "a")):
        groups = np.tile(np.repeat(names, (30, 180, 210)), 2)
        found.append(findings(labels, ["group_rates"], (0, 1), predictions=predictions, groups={"place": groups}))
        assert "at risk" in [one[1] for one in found[-1]]  # 30 rows alone would not show it
    assert found[0] == found[1] == found[2]
