"""Files from the browser, kept under generated names in a temporary folder that is deleted with the server.

The client's file name is only displayed; its ending chooses the reader. Files are read in job processes, never here.
"""

import contextlib
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from fastapi import APIRouter, File, Request, UploadFile
from pydantic import BaseModel, Field

from lopsided.core.errors import InputError
from lopsided.data.tables import WHOLE_FILES
from lopsided.web.jobs.runner import jobs_of
from lopsided.web.limits import Limits
from lopsided.web.problems import Refused, responses

ENDINGS = (".npz", ".npy", ".parquet", ".pq", *WHOLE_FILES)
UploadId = Annotated[str, Field(pattern="^[0-9a-f]{32}$", description="The name of an upload.")]
router = APIRouter(prefix="/api/uploads", tags=["uploads"], responses=responses(404, 429, 507))


class Upload(BaseModel):
    """An uploaded file; `name` is the client's name of it."""

    id: UploadId
    name: str
    bytes: int


@dataclass(frozen=True)
class Kept:
    """An upload on the disk."""

    facts: Upload
    path: Path


class Uploads:
    """The latest uploads, and those that a job waits for; others are deleted."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.RLock()
        self._kept: dict[str, Kept] = {}
        self._folder: Path | None = None

    def keep(self, given: UploadFile, in_use: Callable[[], Container[Path]] = tuple) -> Upload:
        """Copy the file to the folder under a new name; the oldest that is not `in_use` makes room for it.

        What is in use is asked after the copy, which may take long: jobs may have come meanwhile.
        """
        shown = PurePosixPath((given.filename or "file").replace("\\", "/")).name[:200]
        ending = next((known for known in ENDINGS if shown.lower().endswith(known)), None)
        if ending is None:
            raise InputError(f"a file that ends in {', '.join(ENDINGS)}", repr(shown), "convert it first")
        name = secrets.token_hex(16)
        path = self.folder() / f"{name}{ending}"
        try:
            with path.open("wb") as target:
                shutil.copyfileobj(given.file, target)
        except OSError:
            _delete(path)
            raise
        facts = Upload(id=name, name=shown, bytes=path.stat().st_size)
        with self._lock:
            used = in_use()
            free = [one for one, kept in self._kept.items() if kept.path not in used]
            for oldest in free[: max(0, len(self._kept) + 1 - self._limits.uploads_kept)]:
                _delete(self._kept.pop(oldest).path)
            self._kept[name] = Kept(facts, path)
        return facts

    def folder(self) -> Path:
        """A folder that is deleted when the server stops."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="lopsided-uploads-"))
            return self._folder

    def find(self, name: str) -> Kept:
        """The upload of that name."""
        with self._lock:
            if name not in self._kept:
                raise Refused(404, "Upload not found; upload the file again.")
            self._kept[name] = self._kept.pop(name)  # the latest to be used is the last to be deleted
            return self._kept[name]

    def close(self) -> None:
        """Delete everything."""
        with self._lock:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._kept.clear()
            self._folder = None


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


@router.post("")
def take_upload(request: Request, file: Annotated[UploadFile, File(description="The data.")]) -> Upload:
    """Upload a file of examples: npz, npy, parquet, csv, tsv (also packed by gzip), feather, jsonl or xlsx."""
    uploads: Uploads = request.app.state.uploads
    return uploads.keep(file, jobs_of(request).files_in_use)
