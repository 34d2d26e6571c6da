"""What the pages of docs/extending say is done: their file and its entry go into a copy of the package, and the
contract suite of that room runs there on the newcomer alone, and others that go through the same list run whole."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks


@dataclass(frozen=True)
class Addition:
    """The file that the page shows, the line that is put behind another, the suite with the newcomer's name, and those
    that run whole."""

    file: str
    entry: str
    behind: str
    line: str
    suite: str
    newcomer: str
    imports: str = ""
    whole: tuple[str, ...] = ()


ADDITIONS = {
    "remedy": Addition(
        file="src/lopsided/remedies/gentle_weighting.py",
        entry="src/lopsided/remedies/every.py",
        behind="    ClassWeighting,\n",
        line="    GentleWeighting,\n",
        imports="from lopsided.remedies.gentle_weighting import GentleWeighting\n",
        suite="tests/remedies/test_contract.py",
        newcomer="gentle",
        whole=("tests/torch/remedies/test_forms.py", "tests/checkup/trial/test_arms.py"),
    ),
    "check": Addition(
        file="src/lopsided/checkup/checks/tiny_classes.py",
        entry="src/lopsided/checkup/checks/__init__.py",
        behind='    "missing_values",\n',
        line='    "tiny_classes",\n',
        suite="tests/checkup/checks/test_checks.py",
        newcomer="tiny_classes",
    ),
    "claim": Addition(
        file="src/lopsided/papers/lp/lp_root.py",
        entry="src/lopsided/papers/register.csv",
        behind="id,statement,key,place,paper_says\n",
        line="lp-root,A deviation falls like one over the root of n.,fang2021layerpeeled,an example,So it is.\n",
        suite="tests/papers/test_contract.py",
        newcomer="lp-root",
    ),
    "metric": Addition(
        file="src/lopsided/measure/metrics/geometric.py",
        entry="src/lopsided/measure/metrics/__init__.py",
        behind='    "balanced": BALANCED,\n',
        line='    "geometric": GEOMETRIC,\n',
        imports="from lopsided.measure.metrics.geometric import GEOMETRIC\n",
        suite="tests/measure/test_metrics.py",
        newcomer="geometric",
    ),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The package and the tests, to be added to."""
    for name in ("src", "tests", "papers"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=unfinished)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def unfinished(folder: str, names: list[str]) -> set[str]:
    """What is not copied. Compiled modules and kernels are, or the copy would compile them again for half a minute; but
    not the files that another process is just writing beside them."""
    if Path(folder).name == "__pycache__":
        return {name for name in names if not name.endswith((".pyc", ".nbi", ".nbc"))}
    return {name for name in names if name == ".hypothesis"}


@pytest.mark.parametrize("page", list(ADDITIONS))
def test_adding_is_one_file_and_its_entry(page: str, checkout: Path) -> None:
    added = ADDITIONS[page]
    (checkout / added.file).write_text(shown_file(page, added), encoding="utf-8")
    entry = checkout / added.entry
    text = entry.read_text(encoding="utf-8")
    assert text.count(added.behind) == 1, f"{added.entry} has changed: mend this test and the page"
    first = re.search(r"^from ", text, re.MULTILINE)
    if added.imports and first is not None:
        text = text[: first.start()] + added.imports + text[first.start() :]
    entry.write_text(text.replace(added.behind, added.behind + added.line), encoding="utf-8")
    assert run(checkout, added.suite, "-k", added.newcomer) >= 1
    if added.whole:
        assert run(checkout, *added.whole) >= 1
    assert f"./test {added.suite} -k {added.newcomer}\n" in (ROOT / f"docs/extending/{page}.md").read_text()


def shown_file(page: str, added: Addition) -> str:
    """The file as the page shows it; the claim there is a reader's own, and goes into a paper's folder here."""
    shown = {block.file: block.body for block in blocks(ROOT / f"docs/extending/{page}.md") if block.file}
    if page == "claim":
        return shown["my_claims/my_root.py"].replace('id="my-root"', 'id="lp-root"')
    return shown[added.file]


def run(checkout: Path, *chosen: str) -> int:
    """How many tests there are of those that are chosen; all of them pass."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *chosen]
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    finished = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    found = re.search(r"(\d+) passed", finished.stdout)
    return int(found[1]) if found else 0
