"""The files of the page, read once into memory and looked up by name: no path of a client ever reaches the disk."""

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response

from lopsided.web.problems import Refused

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class _File:
    packed: bytes
    kind: str
    tag: str


@cache
def _all() -> dict[str, _File]:
    found = dict(_walk(files("lopsided.web").joinpath("static"), ""))
    assets = files("lopsided.report").joinpath("assets")
    found["plotly.js"] = _file(assets.joinpath("plotly-cartesian.min.js.gz").read_bytes(), "js")
    found["plotly-LICENSE.txt"] = _file(gzip.compress(assets.joinpath("plotly-LICENSE.txt").read_bytes()), "txt")
    return found


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, _File]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif (ending := entry.name.rpartition(".")[2]) in _TYPES:
            yield prefix + entry.name, _file(gzip.compress(entry.read_bytes(), mtime=0), ending)


def _file(packed: bytes, ending: str) -> _File:
    return _File(packed, _TYPES[ending], f'"{hashlib.sha256(packed).hexdigest()[:20]}"')


def _answer(request: Request, name: str) -> Response:
    found = _all().get(name)
    if found is None:
        raise Refused(404, "Page not found.")
    headers = {"ETag": found.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=found.kind)
    return Response(gzip.decompress(found.packed), headers=headers, media_type=found.kind)


def read_all() -> None:
    """Read and pack every file now, so that the first request finds them."""
    _all()


@router.api_route("/", methods=["GET", "HEAD"])
async def _index(request: Request) -> Response:
    return _answer(request, "index.html")


@router.api_route("/static/{name:path}", methods=["GET", "HEAD"])
async def _static(request: Request, name: str) -> Response:
    return _answer(request, name)
