"""What the rooms of the web laboratory look like: the screenshots that the browser tests of the last `./test` kept."""

import shutil
from pathlib import Path

from generated import heading, write_page
from sphinx.application import Sphinx

WIDTHS = ("1280", "390")  # pixels: a laptop and a phone
_NONE = "This build has no screenshots. ``./test`` makes them; the next ``lopsided docs`` shows them.\n"


def screens_page(names: list[str]) -> str:
    """One heading a room, its screenshots below: the names are `room-width`."""
    parts = [":orphan:\n", heading("Screenshots of the web laboratory")]
    parts.append("Made by the browser tests, 1280 and 390 pixels wide.\n" if names else _NONE)
    for room in dict.fromkeys(name.rpartition("-")[0] for name in names):
        parts.append(heading(room.title(), "-"))
        for width in WIDTHS:
            if f"{room}-{width}" in names:
                share = f"   :width: {100 if width == WIDTHS[0] else 40}%\n"
                parts.append(f".. image:: screens/{room}-{width}.png\n   :alt: {room}, {width} pixels wide\n{share}")
    return "\n".join(parts)


def _write(app: Sphinx) -> None:
    source = Path(app.srcdir)
    kept, shown = source.parent / "screenshots", source / "screens"
    shutil.rmtree(shown, ignore_errors=True)
    names = sorted(path.stem for path in kept.glob("*-*.png"))
    if names:
        shutil.copytree(kept, shown)
    write_page(source / "screens.rst", screens_page(names))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for it."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
