"""Groups of pictures: crops against a pixel loop, samples that are paired, and rules that can fail."""

import os
from importlib import import_module

import numpy as np
import pytest

from lopsided.data.image_groups import resized_crops
from lopsided.engine.task import Row
from lopsided.papers.claim import Outcome
from lopsided.papers.gi.group_claims import both_ways, fraction_judge, hill, trends
from lopsided.papers.gi.group_pictures import FACES, TINY_DIGITS, AlsoFaces, augmented, group_sample, picture_numbers

STREAM = np.random.default_rng(0)


def claim(name):
    return import_module(f"lopsided.papers.{name[:2]}.{name}").CLAIM


def test_a_crop_of_everything_is_the_picture():
    pictures = STREAM.random((3, 2, 8, 8)).astype(np.float32)
    # Bilinear weights at pixel centres are 0 and 1 up to float32 rounding.
    assert np.allclose(resized_crops(pictures, 1.0, STREAM.random((3, 2))), pictures, atol=1e-6)


def test_crops_interpolate_as_a_loop_does():
    picture = STREAM.random((1, 1, 6, 6)).astype(np.float32)
    place = np.array([[0.3, 0.8]])
    found = resized_crops(picture, 0.5, place)[0, 0]
    kept = 3.0
    for i in range(6):
        for j in range(6):
            row = min(max(place[0, 0] * 3 + (i + 0.5) * kept / 6 - 0.5, 0), 5)
            column = min(max(place[0, 1] * 3 + (j + 0.5) * kept / 6 - 0.5, 0), 5)
            a, b = int(row), int(column)
            c, d = min(a + 1, 5), min(b + 1, 5)
            u, v = row - a, column - b
            p = picture[0, 0]
            expected = (1 - u) * ((1 - v) * p[a, b] + v * p[a, d]) + u * ((1 - v) * p[c, b] + v * p[c, d])
            assert found[i, j] == pytest.approx(expected, abs=1e-6)  # float32


def rows(values, key="noise", **settings):
    """One row per (level, seed) of a seeds x levels table."""
    table = np.asarray(values)
    base = {"images": "mnist", "minority": "second four"} | settings
    return [
        Row(base | {key: float(level)}, seed, {name: float(table[seed, level]) for name in NAMES})
        for seed in range(table.shape[0])
        for level in range(table.shape[1])
    ]


NAMES = ("minority", "majority", "balanced", "natural", "minority_covariance")


def test_a_hill_needs_both_sides_beyond_error():
    noise = 0.01 * STREAM.standard_normal((6, 5))
    shape = -np.square(np.arange(5) - 2.0) / 10
    assert hill(rows(shape + noise), "noise", "minority").rises_then_falls
    assert hill(rows(-shape + noise), "noise", "minority").valley
    rising = hill(rows(np.arange(5) / 10 + noise), "noise", "minority")
    assert not rising.rises_then_falls
    assert not rising.valley
    chance = [hill(rows(STREAM.standard_normal((5, 5))), "noise", "minority").rises_then_falls for _ in range(200)]
    # The rule asks for two sides at once at 95 % over all levels: by chance below 5 %, within five standard errors.
    assert np.mean(chance) < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 200)


def test_opposite_trends_are_told_from_alike_ones():
    noise = 0.01 * STREAM.standard_normal((5, 4))
    up, down = np.arange(4) / 10 + noise, -np.arange(4) / 10 + noise[::-1]
    assert trends(rows(up), rows(down), "noise", "balanced").opposite
    assert trends(rows(up), rows(up[::-1]), "noise", "balanced").alike
    flat = trends(rows(up), rows(noise), "noise", "balanced")
    assert not flat.alike
    worlds = [
        rows(up, "share"),
        rows(down, "share", minority="first four"),
        rows(up[::-1], "share", minority="first four"),
    ]
    assert fraction_judge(worlds[0] + worlds[1]).outcome is Outcome.HOLDS
    assert fraction_judge(worlds[0] + worlds[2]).outcome is Outcome.CONTRADICTED


def test_augmentation_rule_follows_the_numbers():
    noise = 0.01 * STREAM.standard_normal((5, 5))
    shape = -np.square(np.arange(5) - 2.0) / 10
    judge = claim("gi_augment_noise").judge
    assert judge(rows(shape + noise)).outcome is Outcome.HOLDS
    assert judge(rows(-shape + noise)).outcome is Outcome.CONTRADICTED
    assert judge(rows(np.arange(5) / 10 + noise)).outcome is Outcome.FAILS


def test_removal_rule_follows_the_numbers():
    entry = claim("bo_removal")
    plan = entry.plans["quick"]

    def numbers(order, settings, seed):
        cost = order[settings["which"]] * settings["removed"] if settings["removed"] else 0.0
        return {"accuracy": 0.95 - cost + 1e-3 * np.sin(seed + cost)}

    for order, outcome in (
        ({"high": 0.3, "low": 0.1, "random": 0.15}, Outcome.HOLDS),
        ({"high": 0.1, "low": 0.3, "random": 0.2}, Outcome.CONTRADICTED),
        ({"high": 0.2, "low": 0.1, "random": 0.3}, Outcome.PARTLY),
    ):
        made = [Row(s, seed, numbers(order, s, seed)) for s in plan.settings for seed in plan.seeds]
        assert entry.judge(made).outcome is outcome


def test_levels_under_one_seed_are_paired(data_folder):
    few = {**TINY_DIGITS, "copies": 6, "noise": 0.0}
    sample, test, minority = group_sample(few, 3)
    larger, _, _ = group_sample({**few, "minority_size": 30}, 3)
    assert sample.groups is not None
    assert (sample.groups == minority).sum() == few["minority_size"]
    assert {row.tobytes() for row in sample.pixels} < {row.tobytes() for row in larger.pixels}
    assert np.bincount(test.groups).tolist() == [40, 40]
    plain, labels = augmented(few, sample, minority, 3)
    noisy, again = augmented({**few, "noise": 0.5}, sample, minority, 3)
    stronger, _ = augmented({**few, "noise": 1.0}, sample, minority, 3)
    assert np.array_equal(labels, again)
    assert np.array_equal(plain[:-6], noisy[:-6])
    assert len(plain) == sample.size + 6
    # The same pattern at every level; float32 sums.
    assert np.allclose(stronger[-6:] - plain[-6:], 2 * (noisy[-6:] - plain[-6:]), atol=1e-5)


def test_faces_join_only_where_they_are(tmp_path, monkeypatch):
    settings = AlsoFaces([{"a": 1}], [{"a": 2}])
    monkeypatch.setenv("LOPSIDED_DATA", str(tmp_path))
    assert list(settings) == [{"a": 1}]
    os.makedirs(tmp_path / "celeba" / "img_align_celeba")
    (tmp_path / "celeba" / "list_attr_celeba.txt").write_text("0\n")
    assert len(settings) == 2
    assert settings[1] == {"a": 2}


def test_either_group_can_be_the_minority():
    made = both_ways(TINY_DIGITS, 100, (0.1, 0.5))
    assert len(made) == 4
    assert len({setting["minority"] for setting in made}) == 2
    assert not any("minority_size" in setting for setting in made)


@pytest.mark.parametrize("classes", [2, 4])
def test_faces_train_where_a_user_has_them(tmp_path, monkeypatch, classes):
    pytest.importorskip("torch")
    image = pytest.importorskip("PIL.Image")
    place = tmp_path / "celeba"
    (place / "img_align_celeba").mkdir(parents=True)
    lines, parts = ["48", "Blond_Hair Male Pale_Skin"], []
    for number in range(48):
        name, blond, male, pale = f"{number:06}.jpg", number % 2, number // 2 % 2, number // 4 % 2
        image.new("RGB", (20, 20), (200 * blond, 90 * male, 90 * pale)).save(place / "img_align_celeba" / name)
        lines.append(f"{name} " + " ".join("1" if value else "-1" for value in (blond, male, pale)))
        parts.append(f"{name} {0 if number < 32 else 2}")
    (place / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    (place / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    monkeypatch.setenv("LOPSIDED_DATA", str(tmp_path))
    sizes = {"majority_size": 16, "minority_size": 8, "test_per_group": 6, "copies": 4, "noise": 0.1}
    small = {"network": "mlp", "widths": [8], "batch": 8, "steps": 60, "classes": classes}
    without = {key: value for key, value in FACES.items() if key != "width"}
    numbers = picture_numbers({**without, **sizes, **small}, 0)
    assert numbers["minority_share"] == pytest.approx(8 / 24)
    assert numbers["balanced"] > 0.9  # the colour is the label
