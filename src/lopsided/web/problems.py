"""What goes wrong, as one sentence in JSON: `{"error": "..."}` with a status that says whose fault it is."""

import errno
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from lopsided.core.errors import LopsidedError

_FORMS = {"counts": "counts such as 5000*5,50*5 (five classes of 5000 examples, five of 50)"}


class Problem(BaseModel):
    """One sentence: what was expected, what came, what to do."""

    error: str


class Refused(HTTPException):
    """A request that cannot be served, with its status and sentence."""


def responses(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The answers that any operation may give besides its own, for the description of the API."""
    words = {
        400: "The request cannot be read",
        403: "Not from this page",
        404: "There is no such thing",
        409: "Not possible in its state",
        413: "Too large",
        422: "The values do not fit",
        429: "Too many at once",
        503: "Stopped: it took too long or was cancelled",
        507: "The disk is full",
    }
    return {code: {"model": Problem, "description": words[code]} for code in sorted({400, 403, 413, 422, *codes})}


def disk_problem(error: OSError) -> JSONResponse:
    """The response for what the system refused: a full disk, too many open files."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    words = "room on the server's disk" if full else "the server's system to help"
    return problem(507 if full else 503, f"Expected {words}, but it said: {error.strerror}; try again later.")


def problem(status: int, sentence: str) -> JSONResponse:
    """The response for a sentence."""
    return JSONResponse({"error": " ".join(sentence.split())}, status)


# what the framework says in its own words
_PLAIN = {
    "Method Not Allowed": "Expected another method for this address, but got this one; see /api/openapi.json.",
    "Not Found": "Expected a known address, but got another; see /api/openapi.json.",
    "There was an error parsing the body": "Expected a readable body, but it cannot be parsed.",
    "Missing boundary in multipart.": "Expected a multipart form with its boundary, but got none; fix the request.",
}


def install(app: FastAPI) -> None:
    """Let every error leave the application as a `Problem`."""

    @app.exception_handler(LopsidedError)
    async def _ours(request: Request, error: LopsidedError) -> JSONResponse:
        return problem(422, str(error))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        if isinstance(error.__cause__, OSError):  # the parser of forms puts large parts on the disk
            return disk_problem(error.__cause__)
        answer = problem(error.status_code, _PLAIN.get(str(error.detail), str(error.detail)))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(RequestValidationError)
    async def _validation(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
        if first["type"] == "json_invalid":
            why = first.get("ctx", {}).get("error", "none")
            return problem(422, f"Expected JSON in the body, but: {why}.")
        if first["type"] == "string_pattern_mismatch":
            form = _FORMS.get(field, f"a valid {field}")
            return problem(422, f"Expected {form}, but got {str(first['input'])[:60]!r}; change it.")
        return problem(422, f"Expected a valid {field or 'request'}, but: {first['msg']}; change it.")

    @app.exception_handler(OSError)
    async def _system(request: Request, error: OSError) -> JSONResponse:
        return disk_problem(error)

    @app.exception_handler(MemoryError)
    async def _memory(request: Request, error: MemoryError) -> JSONResponse:
        return problem(422, "Expected the problem to fit into memory, but it does not; make it smaller.")
