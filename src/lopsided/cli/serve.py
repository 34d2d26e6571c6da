"""`lopsided serve`: the web laboratory on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from lopsided.cli.options import DataFolder, StoreFolder


def command(
    port: Annotated[int, typer.Option(help="The port; 0 takes any free one.")] = 8000,
    host: Annotated[
        str, typer.Option(help="Where to listen; beyond this machine the token is always asked for.")
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token; else LOPSIDED_TOKEN, else one is made.")
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Let every user of this machine in.")] = False,
    store: StoreFolder = None,
    data_dir: DataFolder = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Open the laboratory in a browser: touch the theories, audit data, rerun claims. Offline; Ctrl-C stops it.

    The address that is printed and opened holds a token, without which nobody is let in.
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
            raise InputError("a token in the file", "no text", "write a word of letters and digits") from None
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
