"""The folder that Sphinx works in: a copy of docs/ with the pages of the checkout's root beside it."""

import filecmp
import json
import shutil
from pathlib import Path


def staged(pages: Path, source: Path) -> Path:
    """A copy of docs/ for Sphinx to work in; unchanged files keep their time, files that are gone are deleted."""
    listing = source.parent / "staged.json"
    before = set(json.loads(listing.read_text())) if listing.exists() else set()
    wanted = {
        str(path.relative_to(pages)): path
        for path in pages.rglob("*")
        if path.is_file() and not {"_cache", "__pycache__"} & set(path.relative_to(pages).parts)
    }
    root = pages.parent
    wanted |= {
        name: root / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md") if (root / name).is_file()
    }
    for name, path in wanted.items():
        target = source / name
        if not target.exists() or not filecmp.cmp(path, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    for name in before - wanted.keys():
        (source / name).unlink(missing_ok=True)
    listing.write_text(json.dumps(sorted(wanted)))
    for name in ("src", "tests"):  # the equations' links to code and tests, which lead out of docs/
        beside = source.parent / name
        if beside.is_symlink():  # perhaps of a checkout that has moved
            beside.unlink()
        if (root / name).is_dir():
            beside.symlink_to(root / name)
    return source
