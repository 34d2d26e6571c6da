"""Uploads: every ending is read, a bad file ends in a sentence with its own name, and none leads elsewhere."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from fastapi.testclient import TestClient

import lopsided
from lopsided.web.app import ServerSettings, create_app
from lopsided.web.limits import Limits


def _archive(**arrays) -> bytes:
    into = io.BytesIO()
    np.savez(into, **arrays)
    return into.getvalue()


BAD_FILES = {
    "empty.csv": b"",
    "header.csv": b"a,b,y\n",
    "ragged.csv": b"a,b,y\n1,2,0\n1,2\n3,4,5,6\n",
    "words.csv": b"a,b\nfoo,bar\nbaz,qux\n",
    "twice.csv": b"a,a,y\n1,2,0\n3,4,1\n",
    "wide.csv": "a,y\n1,0\n2,1\n".encode("utf-16"),
    "noise.csv": bytes(range(256)) * 8,
    "short.parquet": b"PAR1junkPAR1",
    "cut.csv.gz": gzip.compress(b"a,b,y\n1,2,0\n3,4,1\n")[:-12],
    "ragged.csv.gz": gzip.compress(b"a,b,y\n1,2,0\n1,2\n"),
    "junk.feather": b"ARROW1junkARROW1",
    "junk.jsonl": b'{"a": 1,\n{"a"',
    "empty.npz": b"",
    "cut.npy": b"\x93NUMPY\x01\x00v\x00junk",
    "pickled.npz": _archive(features=np.array([[1, 2]], dtype=object), labels=np.array([0])),
    "scalar.npz": _archive(x=np.float64(3)),
    "nothing.npz": _archive(features=np.zeros((0, 2)), labels=np.zeros(0)),
    "complex.npz": _archive(features=np.full((9, 2), 1 + 2j), labels=np.zeros(9)),
    "climbing.npz": None,  # an archive whose entry would leave the folder, if it were unpacked
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_of_every_kind_end_in_a_sentence_with_their_own_name(name, tmp_path) -> None:
    from lopsided.web.rooms.files import inspect

    kept = tmp_path / f"0123abcd{name[name.index('.') :]}"
    if name == "climbing.npz":
        with zipfile.ZipFile(kept, "w") as archive:
            archive.writestr("../../evil.npy", b"x")
    else:
        kept.write_bytes(BAD_FILES[name])
    with pytest.raises(lopsided.InputError) as error:
        inspect({"path": str(kept), "name": name, "most_rows": 100}, lambda **message: None)
    assert name in str(error.value)
    assert "0123abcd" not in str(error.value)
    assert str(tmp_path) not in str(error.value)


def test_every_ending_that_commands_read_can_be_uploaded(tmp_path) -> None:
    import pandas as pd

    from lopsided.web.rooms.files import inspect

    frame = pd.DataFrame({"a": [0.5, 1.5, 2.5, 3.5], "colour": ["red", "blue", "red", "blue"], "y": [0, 1, 0, 1]})
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_csv(tmp_path / "t.TSV", index=False, sep="\t")
    frame.to_feather(tmp_path / "t.feather")
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    with TestClient(create_app(ServerSettings(spare_worker=False)), base_url="http://localhost") as local:
        for path in sorted(tmp_path.iterdir()):
            answer = local.post("/api/uploads", files={"file": (path.name, path.read_bytes())})
            assert answer.status_code == 200, answer.text
            kept = local.app.state.uploads.find(answer.json()["id"])
            found = inspect({"path": str(kept.path), "name": path.name, "most_rows": 9}, lambda **message: None)
            assert (found["rows"], found["label"]) == (4, "y"), path.name


def test_a_file_without_labels_is_read_as_one(tmp_path) -> None:
    from lopsided.web.rooms.files import inspect

    kept = tmp_path / "kept.csv"
    kept.write_text("alone\n" + "1\n" * 5)
    found = inspect({"path": str(kept), "name": "mine.csv", "most_rows": 100}, lambda **message: None)
    assert (found["rows"], found["label"], found["columns"]) == (5, None, [])


def test_names_of_columns_cannot_name_other_files(tmp_path) -> None:
    from lopsided.web.rooms.audit import run as audit
    from lopsided.web.rooms.memorisation import score_examples
    from lopsided.web.rooms.trial import run as trial

    secret = tmp_path / "secret.txt"
    secret.write_text("0\n1\n" * 10)
    np.savez(tmp_path / "kept.npz", features=np.random.default_rng(0).normal(size=(20, 3)), y=np.arange(20) % 2)
    upload = {"path": str(tmp_path / "kept.npz"), "name": "mine.npz", "most_rows": 100}
    for work in (audit, score_examples, trial):
        parameters = {"asked": {"labels": str(secret)}, "upload": upload, "data": None, "store": str(tmp_path)}
        with pytest.raises(lopsided.InputError, match=r"a column of mine\.npz"):
            work(parameters, lambda **message: None)
    with pytest.raises(lopsided.InputError, match="at most 5 rows"):
        score_examples({"asked": {}, "upload": upload | {"most_rows": 5}, "data": None}, lambda **message: None)


@pytest.mark.parametrize("path", ["/api/audit/run", "/api/memorisation/score", "/api/trial/run"])
def test_an_upload_or_a_builtin_set_not_both_and_no_columns_for_the_latter(path) -> None:
    settings = ServerSettings(limits=Limits(jobs_running=0), spare_worker=False)
    with TestClient(create_app(settings), base_url="http://localhost") as quiet:
        upload = quiet.post("/api/uploads", files={"file": ("a.csv", b"a,y\n1,0\n")}).json()["id"]
        for body, words in (
            ({"upload": upload, "builtin": "digits"}, "an upload or a built-in set, but got both"),
            ({"builtin": "digits", "labels": "y"}, "only with an upload, but got labels"),
            ({"labels": "y"}, "only with an upload, but got labels"),
        ):
            answer = quiet.post(path, json=body)
            assert answer.status_code == 422
            assert words in answer.json()["error"]
        assert quiet.post(path, json={"upload": upload, "labels": "y"}).is_success
        assert quiet.post(path, json={"builtin": "digits"}).is_success
        assert quiet.post(path, json={}).is_success
