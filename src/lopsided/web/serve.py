"""`lopsided.serve`: bind a port, serve the laboratory there, and stop every job with it.

A token is required, because others may use this machine too; if none is given, one is made. FastAPI and uvicorn are
imported only here.
"""

import errno
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.validation import check_count, check_text

TOKEN_VARIABLE = "LOPSIDED_TOKEN"
_QUEUE = 2048  # connections that the system keeps until they are accepted
_STOP_SECONDS = 3  # for answers that are under way when the server is told to stop


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    no_token: bool = False,
    store: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve the web laboratory until interrupted.

    Parameters
    ----------
    host : str, default "127.0.0.1"
        The address to listen on.
    port : int, default 8000
        The port; 0 takes any free one.
    token : str, optional
        The token of the page. By default, $LOPSIDED_TOKEN or a new one.
    no_token : bool, default False
        Do not require a token; on loopback only.
    store : path, optional
        The folder of results, as in `lopsided.reproduce`.
    data : path, optional
        The folder of the data sets.
    announce : callable, optional
        Called with the address once the page can be opened.
    """
    try:
        import uvicorn

        from lopsided.web.app import ServerSettings, create_app
        from lopsided.web.connections import Connection, room
        from lopsided.web.guard import LARGEST_PORT, Access, is_loopback
    except ImportError as error:
        raise MissingPackage(error.name or "fastapi", "the web laboratory", "web") from None
    if check_count(port, "the port", at_least=0) > LARGEST_PORT:
        raise InputError(f"a port up to {LARGEST_PORT}", port, "give for example 8000")
    folder = None if data is None else Path(data).absolute()
    if folder is not None and not folder.is_dir():
        raise InputError("a folder with the data sets", str(folder), "check --data-dir")
    check_text(host, "a host")
    if no_token and (token is not None or not is_loopback(host)):
        got = "a token as well" if token is not None else f"no token on {host}, which other machines can reach"
        raise InputError("no_token without a token, on this machine", got, "leave no_token out")
    if not no_token:
        token = _token(token)
    bound = _bind(host, port)
    where = Path(store).absolute() if store is not None else None
    app = create_app(ServerSettings(Access(host, token), store=where, data=folder))
    address = _address(bound, host, token)

    class Server(uvicorn.Server):  # type: ignore[misc]  # untyped package
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            bound.listen(_QUEUE)
            if announce is not None:
                announce(address)

        def handle_exit(self, number: int, frame: Any) -> None:
            app.state.jobs.closing = True  # streams of events end, so that nobody waits for them
            for status in app.state.jobs.statuses():
                app.state.jobs.job(status.id).wake()
            super().handle_exit(number, frame)

    Connection.most, at_a_time = room()
    config = uvicorn.Config(
        app,
        http=Connection,
        backlog=at_a_time,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    try:
        Server(config).run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    finally:
        bound.close()


def _token(given: str | None) -> str:
    """The token given, that of the environment, or a new one."""
    given = os.environ.get(TOKEN_VARIABLE) if given is None else check_text(given, "a token")
    if given is None:
        return secrets.token_urlsafe(24)
    if not given or not given.isascii() or not given.isprintable() or set(given) & set(' ;,"\\'):
        got = "spaces, quotes or nothing"
        raise InputError("a token of letters, digits and punctuation", got, "without a token, a new one is made")
    return given


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise InputError(
            "a name or address of this machine", repr(host), "without --host, only this machine is served"
        ) from None
    bound = socket.socket(family, kind, protocol)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(place)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError("a free port", f"port {port}, which is in use", "choose another with --port") from None
        if error.errno == errno.EACCES:
            raise InputError("a port that you are allowed to use", port, "choose one above 1023 with --port") from None
        raise InputError(
            "an address of this machine", repr(host), "without --host, only this machine is served"
        ) from None
    return bound


def _address(bound: socket.socket, host: str, token: str | None) -> str:
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else host
    shown = f"[{shown}]" if ":" in shown else shown
    word = "" if token is None else f"?token={quote(token, safe='')}"
    return f"http://{shown}:{bound.getsockname()[1]}/{word}"
