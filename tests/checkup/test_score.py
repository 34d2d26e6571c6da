"""`score` and `lopsided score`: the same scores from every door, files whole, errors in one sentence."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import lopsided
from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.data.images import load_images
from lopsided.measure.influence import influence_scores
from lopsided.measure.noise_matrix import noise_matrix


@pytest.fixture
def digits(tmp_path):
    images = load_images("digits").first(30)
    path = tmp_path / "digits.npz"
    np.savez(path, images=images.pixels, label=images.labels)
    return images, path


def test_every_door_gives_the_same_scores(digits, tmp_path) -> None:
    images, path = digits
    wanted = influence_scores(images.rows() * 16, images.labels)
    np.save(tmp_path / "x.npy", images.pixels)
    np.save(tmp_path / "y.npy", images.labels)
    (tmp_path / "y.txt").write_text("\n".join(map(str, images.labels)) + "\n")
    for found in (
        lopsided.score(path),
        lopsided.score(str(path), "label", block_rows=17),
        lopsided.score(images.pixels, images.labels),
        lopsided.score(tmp_path / "x.npy", tmp_path / "y.npy"),
        lopsided.score(tmp_path / "x.npy", str(tmp_path / "y.txt")),
    ):
        np.testing.assert_allclose(found.influence.scores, wanted.scores, rtol=1e-9, atol=1e-7)
        np.testing.assert_array_equal(found.ranks, wanted.rank_in_class())
        assert [entry.label for entry in found.classes] == [str(digit) for digit in range(10)]
        assert all(entry.count == 30 and len(entry.highest_examples) == 8 for entry in found.classes)
        first = found.classes[3]
        assert first.highest == found.influence.scores[first.highest_examples[0]]
        assert first.lowest == found.influence.scores[images.labels == 3].min()
        assert len(found.figures()) == 1
    told = []
    assert lopsided.score(path, block_rows=100, progress=lambda done, total: told.append((done, total))).streamed
    assert told[-1] == (600, 600)  # two passes over 300 examples
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    again = []
    lopsided.score(path, block_rows=100, noise_matrix=True, progress=lambda done, total: again.append((done, total)))
    assert again[-1] == (900, 900)


def test_noise_matrix_through_score(digits) -> None:
    images, path = digits
    found = lopsided.score(path, noise_matrix=True)
    wanted = noise_matrix(images.pixels, images.labels, resamples=0)
    np.testing.assert_allclose(found.noise.products, wanted.products, rtol=1e-9)
    assert "64 columns" in found.noise.note  # 30 examples a class, 64 pixels
    assert len(found.figures()) == 2
    streamed = lopsided.score(path, noise_matrix=True, block_rows=31)
    np.testing.assert_allclose(streamed.noise.ratios, found.noise.ratios, rtol=1e-9)


def test_command_writes_scores_and_drawing(digits, tmp_path, capsys, monkeypatch) -> None:
    images, path = digits
    monkeypatch.chdir(tmp_path)
    assert main(["score", str(path), "--json", "--noise-matrix"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {"classes", "scores_file", "seconds", "noise_matrix"} <= printed.keys()
    assert {"label", "count", "highest", "lowest"} <= printed["classes"][0].keys()
    table = pq.read_table(tmp_path / printed["scores_file"])
    assert table.column_names == ["index", "label", "score", "rank_in_class"]
    wanted = influence_scores(images.pixels, images.labels)
    np.testing.assert_allclose(table["score"].to_numpy(), wanted.scores)
    assert table["label"].to_pylist() == [str(label) for label in images.labels]
    assert printed["plot"] == "digits-scores.html"
    assert "data:image/png" in (tmp_path / "digits-scores.html").read_text()
    assert main(["score", str(path), "--out", "s.csv", "--plot", "p.png", "--noise-matrix"]) == 0
    shown = capsys.readouterr().out
    assert "Noise correlation ratios" in shown
    assert "300 scores in s.csv" in shown
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert lines[0] == '"index","label","score","rank_in_class"'
    assert len(lines) == 301
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_plain_features_and_declined_classes(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["a,b,label", *[f"{i},{i * i},x" for i in range(5)], "1,2,lonely [bold]"]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    assert main(["score", "d.csv", "--plot", "p.html"]) == 0
    assert "lonely [bold]" in capsys.readouterr().out
    assert main(["score", "d.csv", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["plot"] is None
    lonely = next(entry for entry in printed["classes"] if entry["label"].startswith("lonely"))
    assert lonely["highest"] is None
    assert "one example" in lonely["declined"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.npz"], "which does not exist"),
        (["d.csv", "--labels", "missing"], "'missing'"),
        (["d.csv", "--out", "scores.xls"], ".parquet or .csv"),
        (["d.csv", "--out", "nowhere/scores.csv"], "existing directory"),
        (["d.csv", "--plot", "p.gif"], ".html or .png"),
        (["d.csv", "--convention", "2n"], "convention"),
        (["d.csv", "--extremes", "0"], "extremes"),
        (["d.csv", "--block-rows", "-3"], "rows of a block"),
        (["d.csv", "--features", "a,zz"], "zz"),
        (["d.csv", "--noise-matrix", "--estimator", "best"], "auto, sample"),
        (["one.csv", "--noise-matrix"], "2 classes"),
        (["inf.csv"], "infinite"),
        (["d.csv", "--labels", "short.txt"], "one per example"),
        (["d.csv", "--labels", "binary.txt"], "one label per line"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(arguments, words, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("a,b,label\n1,2,x\n3,4,x\n5,7,x\n1,1,y\n2,3,y\n4,4,y\n")
    (tmp_path / "one.csv").write_text("a,b,label\n1,2,x\n3,4,x\n5,7,x\n")
    (tmp_path / "inf.csv").write_text("a,b,label\n1,2,x\ninf,4,x\n5,7,x\n")
    (tmp_path / "short.txt").write_text("x\ny\n")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x80")
    assert main(["score", *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not list(tmp_path.glob("*scores*"))


def test_labels_must_exist(tmp_path) -> None:
    with pytest.raises(InputError, match="column of labels"):
        lopsided.score(np.ones((3, 2)))


def lopsided_columns():
    """Two classes of three columns, the first with numbers a thousand times those of the others."""
    source = np.random.default_rng(0)
    return source.lognormal(size=(300, 3)) * [1000.0, 1.0, 1.0], source.integers(0, 2, 300)


@pytest.mark.parametrize("rows", [None, 70])
def test_a_column_that_decides_is_named(rows) -> None:
    from scipy.stats import spearmanr

    features, labels = lopsided_columns()
    found = lopsided.score(features, labels, block_rows=rows)
    assert found.decided_by is not None
    assert found.decided_by.column == "0"
    assert "0 alone decides" in found.decided_by.words
    for k in range(2):  # scipy's correlation, class by class
        own = features[labels == k, 0]
        peer = spearmanr(found.influence.scores[labels == k], (own - own.mean()) ** 2).statistic
        assert found.decided_by.rank_correlation == pytest.approx(peer, abs=1e-4)  # pooled over the classes
    scaled = lopsided.score(features, labels, block_rows=rows, standardise=True)
    assert scaled.decided_by is None
    wanted = lopsided.score(features / features.std(axis=0), labels).influence.scores
    np.testing.assert_allclose(scaled.influence.scores, wanted, rtol=1e-9)  # roundings of the deviation


def test_the_command_says_that_a_column_decides(tmp_path, capsys) -> None:
    features, labels = lopsided_columns()
    path = tmp_path / "a.csv"
    lines = [f"{a},{b},{c},{label}" for (a, b, c), label in zip(features, labels, strict=True)]
    path.write_text("\n".join(["amount,b,c,label", *lines]))
    out = ["--out", str(tmp_path / "s.csv")]
    assert main(["score", str(path), *out]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The column amount alone decides" in said
    assert "--standardise" in said
    assert main(["score", str(path), *out, "--standardise", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["decided_by"] is None
    assert facts["standardised"]


@pytest.mark.parametrize("whole_class", [0, 10**9])
def test_class_by_class_where_covariances_are_too_large(monkeypatch, whole_class) -> None:
    """Sorted through a scratch file, whole classes or blocks of them: the scores of one pass in memory."""
    from lopsided.checkup.streamed import score as module
    from lopsided.measure import influence

    monkeypatch.setattr(module, "MOST_BYTES", 0)
    monkeypatch.setattr(influence, "WHOLE_CLASS", whole_class)
    monkeypatch.setattr(module, "_BLOCK_NUMBERS", 20)
    source = np.random.default_rng(1)
    features, labels = source.normal(size=(90, 4)), source.integers(0, 7, 90)
    labels[:2] = 7  # too small for a score
    for kind in (np.float64, np.float32):
        rows = features.astype(kind)
        wanted = lopsided.score(rows, labels)
        found = lopsided.score(rows, labels, block_rows=13)
        # sums in another order
        np.testing.assert_allclose(found.influence.scores, wanted.influence.scores, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(found.ranks, wanted.ranks)
        assert found.influence.declined == wanted.influence.declined
        assert found.classes[0].highest_examples == wanted.classes[0].highest_examples
