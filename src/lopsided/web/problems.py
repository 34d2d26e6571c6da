"""Errors as one sentence in JSON, `{"error": "..."}`, with a status that says whether client or server is at fault."""

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
        400: "Bad request",
        403: "Forbidden",
        404: "Not found",
        409: "Not possible in this state",
        413: "Too large",
        422: "Invalid values",
        429: "Too many at once",
        503: "Timed out or cancelled",
        507: "Disk full",
    }
    return {code: {"model": Problem, "description": words[code]} for code in sorted({400, 403, 413, 422, *codes})}


def disk_problem(error: OSError) -> JSONResponse:
    """The response for what the system refused: a full disk, too many open files."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    sentence = f"The server's {'disk is full' if full else 'system refused'}: {error.strerror}."
    return problem(507 if full else 503, sentence)


def problem(status: int, sentence: str) -> JSONResponse:
    """The response for a sentence."""
    return JSONResponse({"error": " ".join(sentence.split())}, status)


# what the framework says in its own words
_PLAIN = {
    "Method Not Allowed": "This address does not support this method; see /api/openapi.json.",
    "Not Found": "Address not found; see /api/openapi.json.",
    "There was an error parsing the body": "The body of the request cannot be parsed.",
    "Missing boundary in multipart.": "Expected a multipart form with its boundary, but got none.",
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
            return problem(422, f"Expected {form}, but got {str(first['input'])[:60]!r}.")
        return problem(422, f"Expected a valid {field or 'request'}, but: {first['msg']}.")

    @app.exception_handler(OSError)
    async def _system(request: Request, error: OSError) -> JSONResponse:
        return disk_problem(error)

    @app.exception_handler(MemoryError)
    async def _memory(request: Request, error: MemoryError) -> JSONResponse:
        return problem(422, "Out of memory; use a smaller problem.")
