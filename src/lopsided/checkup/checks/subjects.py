"""How findings name their subjects."""

from collections.abc import Sequence

from lopsided.checkup.checks.finding import Finding
from lopsided.checkup.inputs.partitions import CROSS
from lopsided.core.partition import Partition


def class_subject(classes: Partition, code: int) -> str:
    """`class cat`; a name that says so itself stays as it is."""
    name = classes.names[code]
    return name if name.startswith("class ") else f"class {name}"


def group_subject(part: Partition, code: int) -> str:
    """`sex: female`, `sex × race: female × black`."""
    return f"{part.name}: {part.names[code]}"


def counted(number: int, unit: str) -> str:
    """`1 class`, `5 classes`, `1 group`: `unit` is the plural."""
    return f"{number:,} {unit if number != 1 else {'classes': 'class', 'groups': 'group'}[unit]}"


def all_of(number: int, unit: str) -> str:
    """`all 5 classes`, `the only class`."""
    return f"all {counted(number, unit)}" if number != 1 else f"the only {counted(1, unit).removeprefix('1 ')}"


def opening(subject: str) -> str:
    """A subject at the start of a sentence; names keep the user's spelling."""
    return subject[:1].upper() + subject[1:] if subject.startswith(("class", "group")) else f"Group {subject}"


def without_implied(findings: Sequence[Finding]) -> list[Finding]:
    """Drop cells of an intersection when one of their own groups was already found as bad.

    Subjects are those of `group_subject`; columns come before their intersections.
    """
    said: dict[str, int] = {}
    kept = []
    for finding in findings:
        column, _, group = finding.subject.partition(": ")
        columns, groups = column.split(CROSS), group.split(CROSS)
        parents = [f"{one}: {name}" for one, name in zip(columns, groups, strict=False)] if len(columns) > 1 else []
        if any(said.get(parent, 0) >= finding.level.rank > 0 for parent in parents):
            continue
        said[finding.subject] = max(said.get(finding.subject, 0), finding.level.rank)
        kept.append(finding)
    return kept
