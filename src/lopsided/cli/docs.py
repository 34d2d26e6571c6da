"""`lopsided docs`: build the documentation, offline, from a source checkout."""

import os
from pathlib import Path
from typing import Annotated

import typer

from lopsided.cli.options import StoreFolder, folder


def command(
    out: Annotated[Path, folder("Folder to write the pages to.")] = Path("lopsided-docs"),
    gallery: Annotated[
        str,
        typer.Option(
            help="Figures of claims: stored (results that exist), few (also some cheap ones) "
            "or full (all; takes a quarter of an hour)."
        ),
    ] = "few",
    store: StoreFolder = None,
    cache: Annotated[Path | None, folder("Folder of the build cache (default: docs/_cache).")] = None,
    brief: Annotated[
        bool,
        typer.Option(
            "--brief", help="Build faster: without the modules behind the public names, and with few figures of claims."
        ),
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the pages in a browser afterwards.")] = False,
) -> None:
    """Build the documentation. Runs the tutorials and reads the references from the code; works offline."""
    import runpy
    import sys

    # One thread for compiled kernels and BLAS, so that a build beside other work stays quiet. They read this when they
    # are loaded, and the imports below load them.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from lopsided.core.errors import InputError, LopsidedError, MissingPackage
    from lopsided.engine.store import Store

    if gallery not in ("stored", "few", "full"):
        raise InputError("stored, few or full as gallery", repr(gallery))
    pages = Path(__file__).resolve().parents[3] / "docs"
    if not (pages / "conf.py").is_file():
        raise LopsidedError("The folder docs/ was not found; run this from a clone of the repository.")
    if os.path.exists(out) and not out.is_dir():
        raise InputError("a folder for the pages", f"the file {out}", "name another with --out")
    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        raise MissingPackage("sphinx", "building the documentation", "docs") from None
    kept = (cache or pages / "_cache").absolute()
    source = runpy.run_path(str(pages / "extensions/staging.py"))["staged"](pages, kept / "source")
    print("Building the pages. The first build runs the tutorials and takes a minute or two.", file=sys.stderr)
    status = build_main(
        [
            *("-b", "html", "-q", "-W", "--keep-going"),
            *("-d", str(kept / "doctrees")),
            *("-D", f"lopsided_gallery={gallery}"),
            *("-D", f"lopsided_store={Store(store).folder}"),
            *("-D", f"lopsided_rooms={int(not brief)}"),
            str(source),
            str(out),
        ]
    )
    if status:
        raise LopsidedError("Sphinx gave the warnings above; fix the pages or docstrings that they name.")
    index = (out / "index.html").absolute()
    print(f"Documentation: {index}")
    if show:
        import webbrowser

        webbrowser.open(index.as_uri())
