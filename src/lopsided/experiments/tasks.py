"""A claim at one scale becomes independent tasks, one per setting and seed, each with a name that its result keeps.

The name is a hash of the claim's id and version, the settings and the seed. Settings pass through JSON first, so that a
task gets the same values whether it runs here, in another process or on another machine.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lopsided.core.errors import LopsidedError
from lopsided.core.jsonable import jsonable
from lopsided.core.seeds import check_seed
from lopsided.experiments.claim import Claim, Scale


class PlanError(LopsidedError):
    """A claim's plan cannot be turned into tasks."""


@dataclass(frozen=True)
class Task:
    """One measurement to make: `measure(settings, seed)` of the claim that lives in `home`.

    `place` says where inputs lie that settings only name by their content; it is no part of the result's name.
    """

    claim: str
    home: str
    version: int
    settings_text: str
    seed: int
    place: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as plain JSON values, fresh for every caller."""
        values: dict[str, Any] = json.loads(self.settings_text)
        return values

    @cached_property
    def key(self) -> str:
        """The name of the result: 40 hexadecimal digits."""
        return task_key(self.claim, self.version, self.settings_text, self.seed)


def task_key(claim: str, version: int, settings_text: str, seed: int) -> str:
    """SHA-256 over id, version, settings and seed."""
    content = "\x1f".join((claim, str(version), settings_text, str(seed)))
    return hashlib.sha256(content.encode()).hexdigest()[:40]


def canonical(settings: Mapping[str, Any]) -> str:
    """One text for equal settings: sorted keys, no spaces, no NaN."""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def expand(claim: Claim, home: str, scale: Scale) -> list[Task]:
    """Every setting of the scale's plan under every seed, each once."""
    if scale not in claim.plans:
        raise PlanError(f"Expected a plan for the scale {scale}, but {claim.id} has none; choose the other scale.")
    plan = claim.plans[scale]
    texts = dict.fromkeys(_text(claim.id, settings) for settings in plan.settings)
    return [Task(claim.id, home, claim.version, text, check_seed(seed)) for text in texts for seed in plan.seeds]


def _text(claim_id: str, settings: Mapping[str, Any]) -> str:
    try:
        return canonical(jsonable_exactly(settings))
    except (TypeError, ValueError) as error:
        raise PlanError(f"Expected settings of {claim_id} that JSON can hold, but {error}; use plain values.") from None


def jsonable_exactly(settings: Mapping[str, Any]) -> Any:
    """As `jsonable`, but a NaN or an infinity is refused: as a null it would be another setting."""
    json.dumps(settings, allow_nan=False, default=_plain)
    return jsonable(settings)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else jsonable(value)
