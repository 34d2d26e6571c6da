"""The order in which ./test runs: nothing is lost, and every process begins with slow files that exist."""

from pathlib import Path

import pytest

from tests.slow_first import SLOW, dealt

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("each", [1, 40])
def test_every_part_begins_with_its_slow_files(parts, each) -> None:
    files = [*(f"tests/quick_{number}.py" for number in range(100)), *SLOW]
    tests = [(file, f"{file}::{number}") for file in files for number in range(each)]
    found = dealt(tests, parts)
    assert sorted(found) == sorted(test for _, test in tests)
    begins = 0
    for part in range(parts):
        assert found[begins] == f"{SLOW[part]}::0"
        begins += (len(found) - begins) // (parts - part)  # as pytest-xdist cuts the list


def test_the_slow_files_exist() -> None:
    assert [file for file in SLOW if not (ROOT / file).is_file()] == []
