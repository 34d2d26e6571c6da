"""docs/remedies.md: every block runs, and prints what the page says."""

import contextlib
import io
import re
from pathlib import Path

from lopsided import remedies, torch

PAGE = Path(__file__).parents[2] / "docs" / "remedies.md"
_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def test_blocks_run_and_print_what_the_page_says() -> None:
    names: dict[str, object] = {}
    for code, expected in _BLOCK.findall(PAGE.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, PAGE.name, "exec"), names)
        assert printed.getvalue() == expected, code


def test_every_torch_remedy_has_its_place_on_the_page() -> None:
    text = PAGE.read_text()
    homes = {name: home.rpartition(".")[2] for name, home in torch._HOME.items()}
    ours = [name for name in homes if homes[name] in _OURS or name.endswith("SamplerGuard")]
    assert len(ours) == 12
    assert [name for name in ours if name not in text] == []
    assert remedies.__doc__


_OURS = {
    "augmentation",
    "group_dro_loss",
    "group_whitening",
    "logit_adjusted",
    "oversampling_sampler",
    "weighted_loss",
}
