"""What is new or worse in an audit than in an earlier one, for gates on data with known defects.

Findings are matched by check and subject. A finding is new if the earlier audit had no alarm about that subject, and
worse if its level rose. A finding of the same level is known and does not count, whatever its value: values differ
between samples, and a level changes only if an interval does. The line "5 more classes", which stands for alarms that
are not listed one by one, is worse if their number grew. A check that ran then and does not run now counts too;
otherwise a gate would pass when a column is lost.
"""

import json
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from lopsided.checkup.checks.finding import Finding, Level
from lopsided.core.errors import InputError
from lopsided.core.files import check_regular
from lopsided.core.notebook import notebook_view

MOST_BYTES = 100_000_000
_Key = tuple[str, str]  # check and subject


@dataclass(frozen=True)
class Changes:
    """What changed since an earlier audit: `new` and `worse` findings, checks that ran then but not now (`lost`), and
    alarms that are no longer raised (`gone`)."""

    new: tuple[Finding, ...]
    worse: tuple[Finding, ...]
    gone: tuple[str, ...]
    lost: tuple[str, ...]

    def passed(self, fail_on: Level) -> bool:
        """True if no new or worse finding is as bad as `fail_on`, and no check was lost."""
        return not self.lost and all(found.level.rank < fail_on.rank for found in (*self.new, *self.worse))

    def sentence(self) -> str:
        """How many there are of each, and their subjects."""
        if not (self.new or self.worse or self.lost):
            return f"Nothing is new or worse than in the baseline{self._gone()}."
        parts = [
            f"{len(found)} {word} ({', '.join(dict.fromkeys(one.subject for one in found))})"
            for word, found in (("new", self.new), ("worse", self.worse))
            if found
        ]
        if self.lost:
            parts.append(f"not checked any more: {', '.join(self.lost)}")
        return f"Compared with the baseline: {'; '.join(parts)}{self._gone()}."

    def _gone(self) -> str:
        return f"; {len(self.gone)} {'alarm is' if len(self.gone) == 1 else 'alarms are'} gone" if self.gone else ""

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        rows = [[word, one.level.value, one.message] for word in ("new", "worse") for one in getattr(self, word)]
        return notebook_view(self.sentence(), (("change", "level", "finding"), rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; findings as check and subject."""
        pairs = {
            name: [{"id": one.id, "subject": one.subject} for one in getattr(self, name)] for name in ("new", "worse")
        }
        return {**pairs, "gone": list(self.gone), "lost": list(self.lost)}


def read_baseline(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object of an earlier audit (`lopsided audit --json` or `Audit.to_json`)."""
    source = check_regular(path, "the JSON file of an earlier audit")
    try:
        if source.stat().st_size > MOST_BYTES:
            raise InputError(f"at most {MOST_BYTES:,} bytes in {source}", "more", "give the output of audit --json")
        facts = json.loads(source.read_bytes())
        _alarms(facts)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        remedy = "write one with lopsided audit --json"
        raise InputError("the JSON object of an earlier audit", f"another file: {source}", remedy) from None
    return dict(facts)


def _alarms(facts: Mapping[str, Any]) -> dict[_Key, tuple[Level, float | None]]:
    """Level and value of every finding of the earlier audit, by check and subject; the worst where there are two."""
    found: dict[_Key, tuple[Level, float | None]] = {}
    for entry in facts["findings"]:
        key, level = _key(str(entry["id"]), str(entry["subject"])), Level(entry["level"])
        if key not in found or found[key][0].rank < level.rank:
            found[key] = level, None if entry["value"] is None else float(entry["value"])
    return found


def _key(check: str, subject: str) -> _Key:
    number, _, rest = subject.partition(" ")
    return check, rest if number.isdecimal() and rest.startswith("more ") else subject


def changes(findings: Sequence[Finding], ran: Set[str], earlier: Mapping[str, Any]) -> Changes:
    """Present findings, and the checks that ran, compared with the JSON object of an earlier audit."""
    known = _alarms(earlier)
    new, worse, seen = [], [], set()
    for finding in findings:
        key = _key(finding.id, finding.subject)
        if finding.level is Level.HEALTHY:
            continue
        seen.add(key)
        level, value = known.get(key, (Level.HEALTHY, None))
        grew = key[1] != finding.subject and (value or 0) < (finding.value or 0)
        if level is Level.HEALTHY:
            new.append(finding)
        elif finding.level.rank > level.rank or grew:
            worse.append(finding)
    alarmed = [key for key, (level, _) in known.items() if level is not Level.HEALTHY]
    gone = [f"{check}: {subject}" for check, subject in alarmed if (check, subject) not in seen]
    return Changes(tuple(new), tuple(worse), tuple(gone), tuple(sorted({check for check, _ in known} - ran)))
