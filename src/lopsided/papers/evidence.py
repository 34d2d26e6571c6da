"""The evidence that ships with lopsided: for every claim that was run here, its record and its measured numbers.

One compressed file per claim and scale in the folder `stored`, as `papers/ship` packs them from a store. A user's own
run replaces it and is marked as such.
"""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lopsided.engine.task import Row

_SCALES = ("quick", "paper")
FOLDER = "stored"


@dataclass(frozen=True)
class ShippedEvidence:
    """The record of a claim at one scale (the fields of `Reproduced`) and the rows that it was judged on."""

    record: dict[str, Any]
    rows: Sequence[Row]


@dataclass(frozen=True)
class KnownSet:
    """A seed set of a record: its number, how many seeds, and the rule that it was first run for."""

    number: int
    seeds: int
    first_rule: str


def sets_of(record: dict[str, Any]) -> list[KnownSet]:
    """The seed sets of a stored record; an invalid one is left out and run again."""
    try:
        return [KnownSet(int(one["set"]), int(one["seeds"]), str(one["first_rule"])) for one in record.get("sets", [])]
    except (TypeError, ValueError, KeyError, AttributeError):
        return []


@cache
def shipped(claim_id: str) -> tuple[ShippedEvidence, ...]:
    """The shipped evidence of a claim, quick scale first; empty for a claim that was never run here."""
    folder = files("lopsided.papers").joinpath(FOLDER)
    found = (folder.joinpath(f"{claim_id}.{scale}.json.gz") for scale in _SCALES)
    return tuple(unpack(one.read_bytes()) for one in found if one.is_file())


def pack(record: dict[str, Any], rows: Sequence[Row]) -> bytes:
    """Settings once each, then (setting, seed, numbers) of every row; equal content gives equal bytes."""
    settings = list({json.dumps(row.settings, sort_keys=True): dict(row.settings) for row in rows}.values())
    places = {json.dumps(one, sort_keys=True): place for place, one in enumerate(settings)}
    lines = [[places[json.dumps(row.settings, sort_keys=True)], row.seed, row.numbers] for row in rows]
    text = json.dumps(
        {"record": record, "settings": settings, "rows": lines}, separators=(",", ":"), ensure_ascii=False
    )
    return gzip.compress(text.encode(), 9, mtime=0)


def unpack(content: bytes) -> ShippedEvidence:
    """The reverse of `pack`."""
    found = json.loads(gzip.decompress(content))
    rows = [Row(found["settings"][place], seed, numbers) for place, seed, numbers in found["rows"]]
    return ShippedEvidence(found["record"], rows)
