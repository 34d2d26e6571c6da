"""`lopsided serve`: the web laboratory on this machine."""

from typing import Annotated

import typer

from lopsided.cli.options import DataFolder, StoreFolder


def command(
    port: Annotated[int, typer.Option(help="The port; 0 takes any free one.")] = 8000,
    host: Annotated[
        str, typer.Option(help="Where to listen. Beyond this machine a token is needed, given or made.")
    ] = "127.0.0.1",
    token: Annotated[str | None, typer.Option(help="The word that the page asks for.")] = None,
    store: StoreFolder = None,
    data_dir: DataFolder = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Open the laboratory in a browser: touch the theories, audit data, rerun claims. Offline; Ctrl-C stops it."""
    from lopsided.web.serve import serve

    def announce(address: str) -> None:
        print(f"The laboratory is at {address} (Ctrl-C stops it and its jobs)", flush=True)
        if browser:
            import webbrowser

            webbrowser.open(address)

    serve(host=host, port=port, token=token, store=store, data=data_dir, announce=announce)
    print("\nStopped.")
