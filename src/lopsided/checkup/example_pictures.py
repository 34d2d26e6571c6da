"""The examples that findings point to, as pictures, where examples are pictures."""

from collections.abc import Sequence

import numpy as np

from lopsided.checkup.checks.finding import Finding, Level
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import read_rows
from lopsided.core.figure import Figure, Panel, Pictures
from lopsided.core.validation import FloatArray

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
