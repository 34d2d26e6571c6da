"""Parts read by the workers of a Dask cluster give the numbers of one machine, to the last digit."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lopsided
from lopsided.core.errors import InputError
from tests.checkup.streamed.small_parts import EXACT, GIVEN, table, written


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("cluster") / "parts", table())


def test_an_audit_is_the_same_to_the_last_digit(address: str, parts: Path) -> None:
    checks = [*EXACT, "influence", "noise_ratios"]
    here = lopsided.audit(parts, checks=checks, sample_rows=600, **GIVEN).to_dict()
    there = lopsided.audit(parts, checks=checks, sample_rows=600, cluster=address, **GIVEN).to_dict()
    for name in ("rows", "findings", "measures", "notes", "skipped"):
        assert here[name] == there[name]


def test_scores_are_the_same_to_the_last_digit(address: str, parts: Path) -> None:
    named = {"labels": "kind", "features": ["x0", "x1", "x3"]}
    whole = lopsided.score(table().drop_columns(["x2"]), **named)
    here = lopsided.score(parts, **named)
    there = lopsided.score(parts, cluster=address, **named)
    assert np.array_equal(here.influence.scores, there.influence.scores)
    assert np.array_equal(here.ranks, there.ranks)
    assert here.classes == there.classes
    # covariances of 2,400 rows, summed part by part
    np.testing.assert_allclose(here.influence.scores, whole.influence.scores, rtol=1e-10, atol=1e-14)


def test_refusals_on_a_worker_arrive_as_they_are(address: str, parts: Path, tmp_path: Path) -> None:
    bad = table()
    infinite = bad.set_column(0, "x0", [np.where(np.arange(2400) == 77, np.inf, bad["x0"])])
    with pytest.raises(InputError, match="inf in row 77"):
        lopsided.audit(written(tmp_path / "infinite", infinite), cluster=address, sample_rows=100, **GIVEN)
    with pytest.raises(InputError, match="to read in parts"):
        lopsided.score(np.eye(4), [0, 0, 1, 1], cluster=address)
    with pytest.raises(InputError, match="a scheduler address"):
        lopsided.score(parts, "kind", cluster="nowhere")
