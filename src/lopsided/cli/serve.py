"""`lopsided serve`: the web laboratory on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from lopsided.cli.options import DataFolder, StoreFolder


def command(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free port.")] = 8000,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond this machine, a token is always required.")
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token (default: $LOPSIDED_TOKEN or a new one).")
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every user of this machine in without a token.")
    ] = False,
    store: StoreFolder = None,
    data_dir: DataFolder = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open the web laboratory in a browser.

    Explore the theories, audit data, try remedies and rerun claims. Works offline; Ctrl-C stops it. The address that
    is printed and opened contains a token, and requests without it are refused.
    """
    import tempfile

    from lopsided.core.errors import InputError
    from lopsided.core.files import check_regular
    from lopsided.web.serve import serve

    token = None
    if token_file is not None:
        try:
            token = check_regular(token_file, "a file with the token").read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            raise InputError("a token of letters and digits in the file", "binary content") from None
    with tempfile.TemporaryDirectory(prefix="lopsided-serve-") as folder:

        def announce(address: str) -> None:
            print(f"The laboratory is at {address} (Ctrl-C stops it and its jobs)", flush=True)
            if browser:
                _open(address, Path(folder))

        serve(host=host, port=port, token=token, no_token=no_token, store=store, data=data_dir, announce=announce)
    print("\nStopped.")


def _open(address: str, folder: Path) -> None:
    """Through a file in a folder that only we can read: the list of processes shows what a browser was started with."""
    import html
    import webbrowser

    page = folder / "open.html"
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(address)}">')
    webbrowser.open(page.as_uri())
