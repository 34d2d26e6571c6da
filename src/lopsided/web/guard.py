"""Access control: who may send requests (Host, Origin, token), how much, and which rights the page itself has.

A page of another site can make a browser send requests here, and a name of another site can be pointed at this machine.
So there must be one Host, a name or address of this machine and nothing else in it, an Origin must be the page's own to
the letter (scheme, name and port), and a token is asked for, since other users of this machine reach its loopback: once
in the address (`/?token=...`), then kept in a cookie that scripts cannot read, named by the port, as browsers send
cookies to every port of a host; or as `Authorization: Bearer ...` from programs.
"""

import hmac
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from lopsided.web.limits import Limits
from lopsided.web.problems import Refused, problem

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

UPLOADS = "/api/uploads"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# A name or an address, IPv6 in brackets, and a port: no user, no path, no final dot, no zone.
_HOST = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*))(?::(?P<port>[0-9]{1,5}))?"
)
LARGEST_PORT = 65_535
_TOO_LARGE = "Expected at most {:,} bytes, but got more."
# plotly.js puts its rules into an empty <style> element through the object model; this is the hash of the empty text.
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
PAGE_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {EMPTY_STYLE}; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address bound there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Access:
    """Where the server listens and the token it asks for (None: no token, for loopback only)."""

    host: str = "127.0.0.1"
    token: str | None = None
    names: frozenset[str] = field(default_factory=lambda: frozenset({socket.gethostname().lower()}))

    def knows(self, host: str) -> bool:
        """Whether a Host header names this machine; a port may differ behind a tunnel."""
        name = host_name(host)
        if name is None:
            return False
        if name in LOOPBACK_NAMES or name == (_address(self.host) or self.host.lower()):
            return True
        if is_loopback(self.host):
            return False
        # an address cannot be pointed elsewhere, and the token is asked for
        return name in self.names or _address(name) is not None


def host_name(host: str) -> str | None:
    """The name or address in a Host header, addresses in one spelling; None where anything else is in it."""
    found = _HOST.fullmatch(host.lower())
    if found is None or not 0 < int(found["port"] or 1) <= LARGEST_PORT:
        return None
    if found["six"] is None:
        return str(found["name"])
    return _address(found["six"], version=6)


def _address(text: str, version: int | None = None) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return str(address) if version in (None, address.version) else None


def cookie_name(host: str) -> str:
    """Of the token, by the port in a Host header."""
    found = _HOST.fullmatch(host.lower())
    return f"lopsided-token-{(found and found['port']) or 80}"


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: Application, access: Access, limits: Limits) -> None:
        self.app, self.access, self.limits = app, access, limits
        self._uploading = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Refuse, or pass on with a bounded body and the headers of the page."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = _headers(scope)
        refusal = _said_twice(scope) or self._refusal(scope, headers)
        if refusal is not None:
            await problem(*refusal)(scope, receive, _with_headers(send))
            return
        if self.access.token is not None and not self._holds_token(headers):
            await self._ask_for_token(scope, receive, send)
            return
        most = self.limits.upload_bytes if scope["path"] == UPLOADS else self.limits.body_bytes
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            await problem(413, _TOO_LARGE.format(most))(scope, receive, _with_headers(send))
            return
        uploading = scope["path"] == UPLOADS and scope["method"] == "POST"
        if uploading and self._uploading >= self.limits.uploads_at_once:
            sentence = f"Expected at most {self.limits.uploads_at_once} uploads at once; wait for one to finish."
            await problem(429, sentence)(scope, receive, _with_headers(send))
            return
        self._uploading += uploading
        try:
            await self.app(scope, _bounded(receive, most), _with_headers(send))
        finally:
            self._uploading -= uploading

    def _refusal(self, scope: MutableMapping[str, Any], headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self.access.knows(host):
            return 403, "Expected a name of this machine in Host, but got another; open the page by its own address."
        own = f"{scope.get('scheme', 'http')}://{host}".lower()
        foreign = headers.get("origin", own).lower() != own
        if foreign or not _from_here(scope, headers):
            return 403, "Expected a request from this page, but it came from another; open the page by its own address."
        return None

    def _holds_token(self, headers: dict[str, str]) -> bool:
        way, _, word = headers.get("authorization", "").partition(" ")
        given = [word if way.lower() == "bearer" else way]
        own = cookie_name(headers["host"])
        for pair in headers.get("cookie", "").split(";"):  # other cookies of this host may hold any signs
            name, _, value = pair.strip().partition("=")
            given += [value.strip('"')] if name == own else []
        return any(self._is_token(word) for word in given)

    def _is_token(self, word: str) -> bool:
        return hmac.compare_digest(word.encode(), (self.access.token or "").encode())

    async def _ask_for_token(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        from starlette.responses import RedirectResponse

        words = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] == "/" and any(self._is_token(word) for word in words):
            answer = RedirectResponse("/", 303)
            host = next(value.decode("latin-1") for name, value in scope["headers"] if name == b"host")
            # lax: the page that opens the browser is a file, and strict cookies would not survive the redirect
            answer.set_cookie(cookie_name(host), self.access.token or "", httponly=True, samesite="lax")
            await answer(scope, receive, _with_headers(send))
            return
        sentence = "Expected the token that lopsided serve printed, but got none or another; open the printed address."
        await problem(403, sentence)(scope, receive, _with_headers(send))


def _headers(scope: MutableMapping[str, Any]) -> dict[str, str]:
    """By name; cookies may come in several headers (HTTP/2, proxies) and are one list."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    cookies = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
    return headers | {"cookie": "; ".join(cookies)}


def _said_twice(scope: MutableMapping[str, Any]) -> tuple[int, str] | None:
    """What decides is said once: of two, one part of the way may believe the first and another the second."""
    names = [name for name, _ in scope["headers"]]
    for word in (b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"content-length", b"authorization"):
        if names.count(word) > 1:
            return 400, f"Expected one {word.decode().title()}, but got {names.count(word)}."
    return None


def _from_here(scope: MutableMapping[str, Any], headers: dict[str, str]) -> bool:
    """What the browser says of where a request comes from; a link of another page may lead to the first page."""
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    opened = headers.get("sec-fetch-mode", "navigate") == "navigate" and scope["method"] in ("GET", "HEAD")
    return scope["path"] == "/" and opened


def _bounded(receive: Receive, most: int) -> Receive:
    """Count the body as it comes: a client need not tell its length, nor the truth."""
    seen = 0

    async def count() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise Refused(413, _TOO_LARGE.format(most))
        return message

    return count


def _with_headers(send: Send) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *(pair for pair in ours if pair[0] not in present)]
        await send(message)

    return add
