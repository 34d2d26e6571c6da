"""The audit as facts: every check that the evidence permits, in order, and the reason for those that did not run.

A check that lacks something is skipped, with what to provide; one that does not apply (too few examples, one class) is
skipped with the reason; one that fails is reported as broken, and the others still run. Nothing is drawn or written
here: the public function `lopsided.audit` lives in `report`, the first room that may draw, and adds the page to these
facts.
"""

import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from lopsided.checkup.baseline import Changes, changes, read_baseline
from lopsided.checkup.checks import all_checks
from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, Skipped, worst_first
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import read_rows
from lopsided.core.errors import InputError, cut
from lopsided.core.figure import Figure, Panel, Pictures
from lopsided.core.files import check_target, write_atomically
from lopsided.core.jsonable import dump_json, jsonable
from lopsided.core.provenance import provenance
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, check_choice, check_texts
from lopsided.data.frames import frame_of

FailOn = Literal["at risk", "failing"]
StepProgress = Callable[[int, int, str], None]  # (steps done, steps in all, what comes next)
_PROVIDE = {
    "labels": "labels",
    "groups": "one or more columns of groups",
    "features": "features (numbers, one row per example)",
    "classifier": "the classifier's weights (K x p) with the features of the last layer",
    "probabilities": "predicted probabilities or logits",
    "predictions": "predictions, probabilities or logits",
    "split": "a split into training and test rows",
    "weight decay": "the weight decay",
}


@dataclass(frozen=True)
class AuditFacts:
    """Findings (worst first), skipped checks, measures and figures by check, and the evidence they came from."""

    evidence: Evidence = field(repr=False)
    findings: Sequence[Finding]
    skipped: Sequence[Skipped]
    checked: Mapping[str, Checked] = field(repr=False)
    provenance: Mapping[str, Any] = field(repr=False)
    seconds: float
    named: bool = False  # the checks were asked for by name
    counted: Evidence | None = field(default=None, repr=False)  # counts of all examples, where evidence is a sample

    @property
    def rows(self) -> int:
        """Examples in the data; a sample of them may be all that is kept."""
        return self.evidence.rows if self.evidence.drawn_from is None else self.evidence.drawn_from

    @property
    def given(self) -> list[str]:
        """Names of the parts of the evidence."""
        return sorted(self.evidence.has if self.counted is None else self.evidence.has | self.counted.has)

    @property
    def measures(self) -> dict[str, Any]:
        """Plain values by check."""
        return {name: dict(result.measures) for name, result in self.checked.items()}

    @property
    def level(self) -> Level:
        """The worst level found."""
        return max((finding.level for finding in self.findings), key=lambda level: level.rank, default=Level.HEALTHY)

    @property
    def broken(self) -> tuple[str, ...]:
        """Ids of the checks that broke."""
        return tuple(entry.check for entry in self.skipped if entry.broken)

    @property
    def unchecked(self) -> InputError | None:
        """Why this audit cannot pass a gate (no labels, no named check ran, a part could not be used), or None."""
        if self.evidence.aside:
            remedy = "fix, rename or leave out what could not be used"
            return InputError(
                "all parts that were given to be usable in a gate", self.evidence.aside[0].rstrip("."), remedy
            )
        if self.named and not self.checked and not self.broken:
            idle = self.skipped[0]
            return InputError(f"the check {idle.check} to run in a gate", idle.why, "name other checks")
        if not self.named and self.evidence.classes is None:
            remedy = "say which column holds them (labels), or name the checks that need none (checks)"
            return InputError("labels to check in a gate", "none", remedy)
        return None

    def passed(self, fail_on: FailOn | Level = "failing") -> bool:
        """True when no finding is as bad as `fail_on`, no check broke, and everything asked for was checked."""
        limit = fail_on if isinstance(fail_on, Level) else level_of(fail_on)
        return self.level.rank < limit.rank and not self.broken and self.unchecked is None

    def since(self, baseline: str | os.PathLike[str] | Mapping[str, Any]) -> Changes:
        """What is new or worse than in an earlier audit, given as its JSON file or the result of its `to_dict`."""
        earlier = baseline if isinstance(baseline, Mapping) else read_baseline(baseline)
        return changes(self.findings, self.checked.keys(), earlier)

    def headline(self) -> str:
        """How many findings there are of each level, and their subjects; first, what is missing or broke."""
        ran = len(self.checked)
        first = "".join(f"{sentence} " for sentence in self.evidence.unmet)
        first += f"A bug in lopsided broke {', '.join(self.broken)}. " if self.broken else ""
        if self.evidence.classes is None:
            first += f"No label column was given; {ran} of {ran + len(self.skipped)} checks ran. "
        if self.level is Level.HEALTHY:
            checks = "1 check" if ran == 1 else f"{ran} checks"
            return f"{first}{f'No problems found in {checks}.' if ran else ''}".strip()
        counted = [(level, sum(finding.level is level for finding in self.findings)) for level in reversed(Level)]
        words = ", ".join(f"{count} {level.value}" for level, count in counted if count)
        names = list(dict.fromkeys(finding.subject for finding in self.findings if finding.level is self.level))
        some = cut(", ".join(names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        return f"{first}{words} in {ran} checks; {self.level.value}: {some}."

    def opening(self) -> list[str]:
        """The first two lines of the output: the columns used, and the headline, which comes first if there are no
        labels or a part that was asked for cannot be used."""
        lines = [self.evidence.columns.sentence(), self.headline()]
        return lines if self.evidence.classes is not None and not self.evidence.unmet else lines[::-1]

    def frame(self) -> Any:
        """One row per finding: a pandas frame where pandas is installed, otherwise a list of dictionaries."""
        rows = []
        for finding in self.findings:
            low, high = finding.interval or (None, None)
            given = {"id": finding.id, "level": finding.level.value, "subject": finding.subject, "value": finding.value}
            told = {name: getattr(finding, name) for name in ("message", "remedy", "ground", "about", "skill")}
            rows.append({**given, "low": low, "high": high, **told})
        return frame_of(rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that scripts rely on."""
        data = {"source": self.evidence.source, "rows": self.rows, "columns": self.evidence.columns.to_dict()}
        names = ("given", "level", "findings", "skipped", "measures", "provenance", "seconds")
        facts = {**data, **{name: getattr(self, name) for name in names}, "notes": self.evidence.notes}
        return dict(jsonable(facts))

    @overload
    def to_json(self, path: None = None, *, indent: int | None = 2) -> str: ...

    @overload
    def to_json(self, path: str | os.PathLike[str], *, indent: int | None = 2) -> Path: ...

    def to_json(self, path: str | os.PathLike[str] | None = None, *, indent: int | None = 2) -> str | Path:
        """The facts as one JSON object: as text, or written to `path`."""
        text = dump_json(self.to_dict(), indent=indent)
        return text if path is None else write_atomically(check_target(path, (".json",), "JSON"), text + "\n")


def level_of(word: str) -> Level:
    """`at risk`, `at-risk` or `failing` as a level."""
    wanted = word.replace("-", " ").replace("_", " ").strip().lower()
    for level in (Level.AT_RISK, Level.FAILING):
        if level.value == wanted:
            return level
    raise InputError("at-risk or failing", repr(word))


def run_checks(
    evidence: Evidence,
    *,
    seed: int = 0,
    checks: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: StepProgress | None = None,
    counted: Evidence | None = None,
) -> AuditFacts:
    """Ask every check (or those named) of the evidence; each has a random stream of its own.

    counted: the counts of all examples that `evidence` is a sample of, for the checks that rest on them alone.
    """
    began = time.perf_counter()
    wanted = _wanted(checks)
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    done: dict[str, Checked] = {}
    for place, check in enumerate(wanted):
        if progress is not None:
            progress(place, len(wanted), check.question)
        asked = counted if counted is not None and check.exact else evidence
        missing = sorted(check.needs - asked.has)
        if missing:
            provide = " and ".join(_PROVIDE[name] for name in missing)
            skipped.append(Skipped(check.id, f"no {' and no '.join(missing)} given; provide {provide}"))
            continue
        try:
            result = of_sample(check.ask(asked, generator(seed, "audit", check.id)), asked)
            pictures = example_pictures(asked, result.findings)
        except InputError as reason:
            skipped.append(Skipped(check.id, f"declined: {reason}"))
            continue
        except Exception as error:  # one check that breaks must not take the others with it
            last = traceback.extract_tb(error.__traceback__)[-1]
            words = " ".join(f"{type(error).__name__}: {error}".split())
            why = f"failed ({words}; {Path(last.filename).name}, line {last.lineno}), which is a bug in lopsided"
            skipped.append(Skipped(check.id, f"{why}; please report it", broken=True))
            continue
        done[check.id] = replace(result, figures=[*result.figures, *pictures])
        findings += result.findings
    if progress is not None:
        progress(len(wanted), len(wanted), "done")
    return AuditFacts(
        evidence,
        tuple(worst_first(findings)),
        tuple(skipped),
        done,
        provenance(seed=seed, settings=dict(settings or {})),
        time.perf_counter() - began,
        checks is not None,
        counted,
    )


def of_sample(result: Checked, evidence: Evidence) -> Checked:
    """The result, whose findings say which sample they rest on where it was one."""
    if evidence.drawn_from is None or evidence.drawn_from == evidence.rows:
        return result
    where = f"in a sample of {evidence.rows:,} of {evidence.drawn_from:,} rows"
    told = [replace(one, message=f"{where[0].upper()}{where[1:]}: {one.message}") for one in result.findings]
    return replace(result, findings=told, measures={**result.measures, "sample": where})


def _wanted(names: Sequence[str] | None) -> tuple[Check, ...]:
    everything = all_checks()
    if names is None:
        return everything
    known = {check.id: check for check in everything}
    names = check_texts(names, "the name of a check")
    if not names:
        raise InputError(f"a check among {', '.join(known)}", "none")
    return tuple(known[check_choice(name, known, "a check")] for name in names)


MOST_FINDINGS, MOST_EXAMPLES = 6, 8


def example_pictures(evidence: Evidence, findings: Sequence[Finding]) -> list[Figure]:
    """One row of pictures per bad finding about examples; none where examples are not pictures."""
    shape = None if evidence.table is None else evidence.table.image_shape
    bad = [finding for finding in findings if finding.level is not Level.HEALTHY]
    shown = [finding for finding in bad if finding.about == "example" and finding.examples][:MOST_FINDINGS]
    if shape is None or not shown:
        return []
    wanted = np.unique(np.concatenate([np.array(finding.examples[:MOST_EXAMPLES]) for finding in shown]))
    values = read_rows(evidence, wanted).astype(np.float64).reshape(len(wanted), *shape)
    low, high = min(float(values.min()), 0.0), float(values.max())
    scaled: FloatArray = (values - low) * (255.0 / max(high - low, 1e-300))
    if len(shape) == 3 and shape[2] == 1:
        scaled = scaled[..., 0]
    place = {int(row): at for at, row in enumerate(wanted)}
    rows = [[scaled[place[int(row)]].tolist() for row in finding.examples[:MOST_EXAMPLES]] for finding in shown]
    columns = [str(at + 1) for at in range(max(len(row) for row in rows))]
    title = "The examples, the most extreme first"
    panel = Panel(title, "place", "", [Pictures(rows, [finding.subject for finding in shown], columns, title)])
    return [Figure(title, [panel])]
