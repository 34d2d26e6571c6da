"""Everything a person may bring ends in the same evidence, and every mistake in one sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import torch
from lopsided.checkup.inputs.gather import gather
from lopsided.core.errors import InputError

N, D, K = 60, 4, 3


@pytest.fixture
def parts():
    random = np.random.default_rng(0)
    return {
        "features": random.standard_normal((N, D)),
        "labels": np.array(["cat", "dog", "eel"])[np.arange(N) % K],
        "sex": np.array(["f", "m"])[np.arange(N) % 2],
        "predictions": np.array(["cat", "dog", "eel"])[(np.arange(N) + (np.arange(N) % 7 == 0)) % K],
        "split": np.where(np.arange(N) < 40, "train", "test"),
    }


def frame_of(parts):
    return pd.DataFrame(
        {f"x{j}": parts["features"][:, j] for j in range(D)}
        | {name: parts[name] for name in ("labels", "sex", "predictions", "split")}
    )


def check(evidence, parts):
    assert evidence.rows == N
    assert evidence.classes.names == ("cat", "dog", "eel")
    assert [evidence.classes.names[code] for code in evidence.classes.codes] == parts["labels"].tolist()
    np.testing.assert_allclose(evidence.table.features(), parts["features"], rtol=1e-12)  # csv keeps 17 digits
    assert evidence.groups["sex"].names == ("f", "m")
    assert evidence.is_test.sum() == 20
    wrong = evidence.predictions != evidence.classes.codes
    assert wrong.tolist() == (np.arange(N) % 7 == 0).tolist()
    assert evidence.has == {"labels", "groups", "features", "predictions", "split"}


@pytest.mark.parametrize("form", ["npz", "parquet", "csv", "tsv", "pandas", "polars", "mapping", "tensor", "arrays"])
def test_every_form_gives_the_same_evidence(parts, tmp_path, form) -> None:
    frame = frame_of(parts)
    path = tmp_path / f"data.{form}"
    data, others = path, {"groups": "sex"}
    if form == "npz":
        np.savez(path, **parts)
    elif form == "parquet":
        frame.to_parquet(path)
    elif form in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    elif form == "pandas":
        data = frame.set_index(np.arange(N)[::-1]).astype({"labels": "category"})
    elif form == "polars":
        data = pl.from_pandas(frame)
    elif form == "mapping":
        data = parts
    elif form == "tensor":
        data = torch.tensor(parts["features"], requires_grad=True)
        others = {name: parts[name] for name in ("labels", "predictions", "split")} | {"groups": {"sex": parts["sex"]}}
    else:
        data = parts["features"].tolist()
        others = {name: parts[name] for name in ("predictions", "split")} | {
            "labels": np.ma.array(parts["labels"].astype(object)),
            "groups": frame[["sex"]],
        }
    check(gather(data, **others), parts)


def test_halves_of_an_npz_are_put_together(tmp_path) -> None:
    random = np.random.default_rng(1)
    train, test = random.standard_normal((8, 2)), random.standard_normal((4, 2))
    np.savez(tmp_path / "m.npz", x_train=train, y_train=np.arange(8) % 2, x_test=test, y_test=np.arange(4) % 2)
    evidence = gather(tmp_path / "m.npz")
    assert evidence.rows == 12
    assert evidence.is_test.tolist() == [False] * 8 + [True] * 4
    np.testing.assert_array_equal(evidence.table.features(), np.concatenate([train, test]))


def test_folders_of_pictures_with_a_split(tmp_path) -> None:
    from PIL import Image

    for split in ("train", "val"):
        for name in ("ant", "bee"):
            (tmp_path / split / name).mkdir(parents=True)
            for place in range(3):
                pixels = np.full((5, 4), 10 * place, dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / split / name / f"{place}.png")
    evidence = gather(tmp_path)
    assert evidence.classes.names == ("ant", "bee")
    assert evidence.rows == 12
    assert evidence.is_test.sum() == 6
    assert evidence.table.width == 20


def test_labels_and_predictions_alone(tmp_path) -> None:
    pd.DataFrame({"y": ["a", "b"] * 10, "y_pred": ["a", "a"] * 10, "group": list("pqrs") * 5}).to_csv(
        tmp_path / "p.csv", index=False
    )
    evidence = gather(tmp_path / "p.csv")
    assert evidence.has == {"labels", "groups", "predictions"}
    np.savez(tmp_path / "p.npz", labels=np.arange(20) % 2, predictions=np.zeros(20, dtype=int))
    assert gather(tmp_path / "p.npz").has == {"labels", "predictions"}
    assert gather(labels=[0, 0, 1]).has == {"labels"}


def test_probabilities_logits_and_heads(parts) -> None:
    random = np.random.default_rng(2)
    logits = random.standard_normal((N, K))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    layer = torch.nn.Linear(D, K)
    x, y = parts["features"], parts["labels"]
    by_logits = gather(x, labels=y, logits=torch.tensor(logits, dtype=torch.bfloat16), classifier=layer)
    by_chances = gather(x, labels=y, probabilities=chances)
    # bfloat16 keeps eight bits
    np.testing.assert_allclose(by_logits.probabilities, by_chances.probabilities, atol=2e-2)
    np.testing.assert_allclose(by_logits.classifier, layer.weight.detach().numpy(), rtol=1e-6)  # float32 to float64
    assert by_logits.bias.shape == (K,)
    assert (by_chances.predictions == logits.argmax(axis=1)).all()
    turned = gather(x, labels=y, probabilities=chances[:, ::-1], classes=["eel", "dog", "cat"])
    assert [turned.classes.names[c] for c in turned.predictions] == [
        by_chances.classes.names[c] for c in by_chances.predictions
    ]


def test_logistic_regression_of_two_classes_has_two_rows(parts) -> None:
    from sklearn.linear_model import LogisticRegression

    x, y = parts["features"], np.arange(N) % 2
    model = LogisticRegression().fit(x, y)
    evidence = gather(x, labels=y, classifier=model)
    scores = x @ evidence.classifier.T + evidence.bias
    # the softmax of two scores depends on their difference, which is the model's decision
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], model.decision_function(x), rtol=1e-12, atol=1e-12)


def test_intersections_join_small_cells() -> None:
    random = np.random.default_rng(3)
    a = random.integers(0, 2, 500).astype(str)
    b = np.where(np.arange(500) < 30, random.integers(2, 9, 500), random.integers(0, 2, 500)).astype(str)
    evidence = gather(labels=np.arange(500) % 2, groups={"a": a, "b": b, "c": a})
    assert list(evidence.groups) == ["a", "b", "c", "a × b", "a × c", "b × c", "a × b × c"]
    crossed = evidence.groups["a × b"]
    assert crossed.names[-1].endswith("small cells")
    assert crossed.counts.sum() == 500
    brute = {f"{p} × {q}": int(((a == p) & (b == q)).sum()) for p in set(a) for q in set(b)}
    for name, count in zip(crossed.names[:-1], crossed.counts[:-1], strict=True):
        assert brute[name] == count >= 20
    assert any("joined" in note for note in evidence.notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": "colour"}, "labels, sex, predictions, split"),
        ({"groups": ["sex", "race"]}, "'race'"),
        ({"labels": np.ma.array(np.arange(N), mask=np.arange(N) == 3)}, "1 masked entries"),
        ({"labels": np.array([None, *["a"] * (N - 1)], dtype=object)}, "missing values"),
        ({"labels": np.arange(N) / 7}, "fractions"),
        ({"labels": np.arange(N - 1)}, f"{N} entries in labels"),
        ({"split": np.zeros(N)}, "training and test rows"),
        ({"split": np.array(["a", "b"] * (N // 2))}, "True for test rows"),
        ({"predictions": np.array(["x", "y"] * (N // 2))}, "use the same names"),
        ({"probabilities": np.full((N, K), 0.5)}, "sum 1.5"),
        ({"probabilities": np.full((N, 2), 0.5)}, "3 columns"),
        ({"classifier": np.zeros((K, D + 1))}, "4 columns"),
        ({"classifier": np.zeros((5, D))}, "3 rows"),
        ({"bias": np.zeros(2), "classifier": np.zeros((K, D))}, "3 finite biases"),
        ({"weight_decay": -1.0}, "weight decay"),
        ({"groups": {"age": np.arange(N) * 1.5}}, "fractions"),
    ],
)
def test_mistakes_end_in_one_sentence(parts, change, words) -> None:
    with pytest.raises(InputError, match="Expected") as error:
        gather(frame_of(parts), **change)
    assert words in str(error.value)


def test_missing_numbers_are_named(parts, tmp_path) -> None:
    frame = frame_of(parts)
    frame.loc[5, "x2"] = np.nan
    assert dict(gather(frame).missing.columns) == {"x2": 1}
    frame.loc[5, "x2"] = np.inf
    with pytest.raises(InputError, match="x2"):
        gather(frame)
    parts["features"][7, 1] = np.inf
    with pytest.raises(InputError, match="inf in row 7, column 1"):
        gather(parts)
    with pytest.raises(InputError, match="neither"):
        gather()


def test_labels_that_cannot_be_found_are_asked_for(parts) -> None:
    evidence = gather(frame_of(parts).rename(columns={"labels": "animal"}).drop(columns="predictions"))
    assert evidence.classes is None
    assert any("No labels were found" in note and "animal" in note for note in evidence.notes)
