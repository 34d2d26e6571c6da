"""Which examples stretch the covariance of their class most, and how the classes' noise overlaps: the scores of
Xu and Chen 2025 on a user's data.

`score` reads a file, a folder of pictures or arrays, computes the influence scores of eq (10) without training
anything, in memory or in two passes over a file larger than memory, and ranks every example within its class.

The paper calls examples with high scores atypical and those with low scores typical. Measured (claim bo-influence),
high scores lie far out along the directions in which their class varies most anyway, such as bold strokes; low ones lie
near the mean, or are odd in directions in which the class hardly varies. The output says no more than that.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.checkup.inputs.arguments import shared_parameters
from lopsided.checkup.inputs.left_out import columns_of
from lopsided.checkup.inputs.sources import DataSource
from lopsided.checkup.streamed.score import Passes, deviations, scores_in_passes
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Heatmap, Line, Panel, Pictures
from lopsided.core.notebook import notebook_view
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray, check_classes, check_count, check_labels
from lopsided.data.arrow_tables import parts_table
from lopsided.data.columns import Columns
from lopsided.data.encoded_tables import sparse_table
from lopsided.data.frames import frame_table, is_frame
from lopsided.data.parts import is_in_parts, open_parts
from lopsided.data.rows import is_sparse
from lopsided.data.tables import ColumnChoice, Table, array_table, looks_like_a_file, open_table, read_label_file
from lopsided.engine.cluster import Cluster
from lopsided.measure.class_moments import Convention
from lopsided.measure.influence import DECIDES, InfluenceScores, influence_scores, rank_agreement, within_variation
from lopsided.measure.noise_matrix import Estimator, NoiseMatrix, noise_matrix_of_blocks
from lopsided.measure.noise_matrix import noise_matrix as noise_matrix_in_memory

_IN_MEMORY_BYTES = 600_000_000  # larger features (as float64) are read twice instead of kept
_MOST_CLASSES_DRAWN = 12


@dataclass(frozen=True)
class ClassSummary:
    """One class: its size, its highest and lowest score, and the examples that have them (positions, most extreme
    first).

    Undefined (None, empty) if the class could not be scored, with the reason.
    """

    label: str
    count: int
    highest: float | None
    lowest: float | None
    highest_examples: list[int]
    lowest_examples: list[int]
    declined: str | None


@dataclass(frozen=True)
class DecidingColumn:
    """The one column that ranks the examples, and the rank correlation of its squared distance from the class mean with
    the scores."""

    column: str
    rank_correlation: float

    @property
    def words(self) -> str:
        """One sentence."""
        return (
            f"The column {self.column} alone decides these scores: within classes, they rank examples as the squared "
            f"distance of that column from its class mean does (rank correlation {self.rank_correlation:.6g})."
        )


@dataclass(frozen=True)
class Score:
    """Scores of every example, their ranks within the class (1 = highest), and the noise matrix where asked
    for."""

    source: str
    influence: InfluenceScores
    ranks: IntArray
    classes: list[ClassSummary]
    noise: NoiseMatrix | None
    streamed: bool
    seconds: float
    decided_by: DecidingColumn | None
    standardised: bool
    pictures: dict[int, NDArray[Any]]  # pixels 0..255 of the extreme examples, where examples are pictures
    read: Columns = field(default_factory=Columns)  # which columns of the data were used, and why not the others

    def columns(self) -> dict[str, Any]:
        """What the file of scores holds, column by column."""
        names = np.array(self.influence.names)
        return {
            "index": np.arange(self.ranks.size),
            "label": names[self.influence.codes],
            "score": self.influence.scores,
            "rank_in_class": self.ranks,
        }

    def _repr_html_(self) -> str:
        """For notebooks: the extremes of every class."""
        heads = ("class", "examples", "highest", "lowest", "examples with the highest", "and lowest")
        rows = [
            [one.label, one.count, one.highest, one.lowest, one.highest_examples[:3], one.lowest_examples[:3]]
            for one in self.classes
        ]
        return notebook_view(f"Influence scores of {self.ranks.size:,} examples of {self.source}", (heads, rows))

    def figures(self) -> list[Figure]:
        """The extreme pictures or the curves of sorted scores, and the noise matrix where it was computed."""
        drawn = [_pictures(self)] if self.pictures else [_curves(self)]
        return drawn if self.noise is None else [*drawn, noise_figure(self.noise)]


@shared_parameters
def score(
    data: "str | os.PathLike[str] | Table | ArrayLike",
    labels: "str | os.PathLike[str] | ArrayLike | None" = None,
    *,
    features: str | Sequence[str] | None = None,
    convention: Convention = "n-1",
    noise_matrix: bool = False,
    estimator: Estimator = "auto",
    resamples: int = 200,
    extremes: int = 8,
    block_rows: int | None = None,
    standardise: bool = False,
    many_classes: bool = False,
    seed: int = 0,
    cluster: "str | Cluster | None" = None,
    progress: Callable[[int, int], None] | None = None,
) -> Score:
    """Influence scores of every example, and on request the class-by-class noise matrix.

    Parameters
    ----------
    data : path, DataFrame, Arrow data set, array or tensor
        A file (npz, npy, parquet, csv), a folder of pictures or of parquet files, a pandas or Polars frame, or an array
        with one row or picture per example.
    features : str or list of str, optional
        The columns (or the one array) of `data` that are features. By default, all columns of numbers.
    convention : {"n-1", "n"}, default "n-1"
        What covariances are divided by.
    noise_matrix : bool, default False
        Also compute the noise matrix between classes.
    estimator : {"auto", "sample", "shrunk", "unbiased"}, default "auto"
        How the noise matrix is estimated; see `measure.noise_matrix`.
    resamples : int, default 200
        Bootstrap samples behind its intervals.
    extremes : int, default 8
        Examples named at both ends of every class.
    block_rows : int, optional
        Read the data twice, in blocks of this many rows, instead of loading them; large files are always read in
        blocks.
    standardise : bool, default False
        Divide every column by its standard deviation first. The paper does not, so columns with large numbers dominate;
        `decided_by` names one that does so alone.
    cluster : str or Cluster, optional
        The address of a Dask scheduler whose workers read a parquet file or a folder of them. They must see the same
        files.
    progress : callable, optional
        Called with (rows read, rows to read) while it reads in blocks.
    {inputs}
    """
    started = time.perf_counter()
    check_count(extremes, "the number of extremes", at_least=1)
    if block_rows is not None:
        check_count(block_rows, "the rows of a block")
    table, values = _open(data, labels, features, in_parts=cluster is not None)
    codes, names = check_labels(values, length=table.rows)
    if not many_classes:
        check_classes(values, len(names))
    large = table.rows * table.width * 8 > _IN_MEMORY_BYTES
    streamed = large or block_rows is not None or cluster is not None or table.parts is not None
    scale = deviations(table, block_rows) if standardise else None
    noise, random = None, generator(seed, "noise matrix")
    how: dict[str, Any] = {"estimator": estimator, "convention": convention, "resamples": resamples, "random": random}
    if not streamed:
        whole = table.features() if scale is None else table.features() / scale
        influence = influence_scores(whole, values, convention=convention)
        if noise_matrix:
            noise = noise_matrix_in_memory(whole, values, **how)
        widest = int(np.argmax(within_variation(whole, codes)))
        column = whole[:, widest]
    else:
        passes = Passes(table, codes, tuple(names), convention, block_rows, scale, 3 if noise_matrix else 2, progress)
        influence, column, widest, moments = scores_in_passes(passes, cluster, whole=noise_matrix)
        if noise_matrix:
            noise = noise_matrix_of_blocks(passes.blocks, codes, tuple(names), table.width, moments=moments, **how)
    agreement = rank_agreement(influence.scores, column, codes) if table.width > 1 else 0.0
    name = table.feature_names[widest] if table.feature_names else str(widest)
    decided = DecidingColumn(name, agreement) if agreement > DECIDES else None
    counts = np.bincount(codes, minlength=len(names))
    classes = [_summary(influence, k, int(counts[k]), extremes) for k in range(len(names))]
    pictures = _read_pictures(table, classes) if table.image_shape else {}
    seconds = time.perf_counter() - started
    read = columns_of(DataSource(table, {}, table.source), {"label": _label_column(table, values)})
    ranks = influence.rank_in_class()
    return Score(
        table.source, influence, ranks, classes, noise, streamed, seconds, decided, standardise, pictures, read
    )


def _label_column(table: Table, values: NDArray[Any]) -> list[str]:
    return [name for name, column in table.columns.items() if column is values]


def _open(
    data: Any, labels: Any, features: str | Sequence[str] | None, *, in_parts: bool
) -> tuple[Table, NDArray[Any]]:
    column = None
    if isinstance(labels, str) and not Path(labels).is_file():
        if not looks_like_a_file(labels):
            column = labels
        elif not os.path.exists(labels):
            raise InputError("a column or a file of labels", f"{labels}, which does not exist")
    beside = [column] if column else []
    if isinstance(data, Table):
        table = data
    elif in_parts or (not isinstance(data, (str, os.PathLike)) and is_in_parts(data)):
        table = parts_table(open_parts(data), ColumnChoice(features, beside))
    elif isinstance(data, (str, os.PathLike)):
        table = open_table(data, ColumnChoice(features, beside, whole=True))
    elif is_frame(data):
        table = frame_table(data, ColumnChoice(features, beside, whole=True))
    elif is_sparse(data):
        table = sparse_table(data, {}, "the matrix")
    else:
        table = array_table(plain_array(data, "the features"), {}, "the array")
    if labels is None or column is not None:
        return table, table.labels(column)
    if isinstance(labels, (str, os.PathLike)):
        return table, read_label_file(Path(labels))
    return table, plain_array(labels, "the labels")


def _summary(influence: InfluenceScores, code: int, size: int, count: int) -> ClassSummary:
    name = influence.names[code]
    high, low = influence.extremes(code, count)
    return ClassSummary(
        name,
        size,
        float(influence.scores[high[0]]) if high.size else None,
        float(influence.scores[low[0]]) if low.size else None,
        high.tolist(),
        low.tolist(),
        influence.declined.get(name),
    )


def _read_pictures(table: Table, classes: list[ClassSummary]) -> dict[int, NDArray[Any]]:
    """The pixels of the extreme examples of the drawn classes, scaled together to 0..255."""
    wanted = np.array(
        sorted({i for entry in classes[:_MOST_CLASSES_DRAWN] for i in entry.highest_examples + entry.lowest_examples}),
        dtype=np.int64,
    )
    found: dict[int, FloatArray] = {}
    start = 0
    for block in table.blocks():
        for i in wanted[(wanted >= start) & (wanted < start + block.shape[0])]:
            found[int(i)] = np.asarray(block[i - start], dtype=np.float64).reshape(table.image_shape or (-1,))
        start += block.shape[0]
    low = min((float(picture.min()) for picture in found.values()), default=0.0)
    high = max((float(picture.max()) for picture in found.values()), default=1.0)
    low = min(low, 0.0)
    return {i: (picture - low) * (255.0 / max(high - low, 1e-300)) for i, picture in found.items()}


def _pictures(result: Score) -> Figure:
    shown = [entry for entry in result.classes[:_MOST_CLASSES_DRAWN] if entry.highest_examples]

    def panel(title: str, examples: Callable[[ClassSummary], list[int]]) -> Panel:
        rows = [[result.pictures[i].tolist() for i in examples(entry)] for entry in shown]
        columns = [str(place + 1) for place in range(max((len(row) for row in rows), default=0))]
        return Panel(title, "place", "class", [Pictures(rows, [entry.label for entry in shown], columns, title)])

    left_out = len(result.classes) - len(shown)
    return Figure(
        f"Highest and lowest scores of {Path(result.source).name}",
        [
            panel("Highest scores", lambda entry: entry.highest_examples),
            panel("Lowest scores", lambda entry: entry.lowest_examples),
        ],
        "High: far out along the directions in which the class varies most. Low: near its mean, or odd in directions "
        "in which it hardly varies." + (f" {left_out} classes are not drawn." if left_out else ""),
    )


def _curves(result: Score) -> Figure:
    lines = []
    for k, entry in enumerate(result.classes[:_MOST_CLASSES_DRAWN]):
        own = np.sort(result.influence.scores[result.influence.codes == k])[::-1]
        if entry.declined or own.size == 0:
            continue
        keep = np.unique(np.linspace(0, own.size - 1, 200).astype(int))
        lines.append(Line(((keep + 1) / own.size).tolist(), own[keep].tolist(), entry.label))
    panel = Panel("Scores in order", "share of the class", "influence score", lines)
    return Figure(
        f"Influence scores of {Path(result.source).name}",
        [panel],
        "A steep start means that few examples dominate the covariance.",
    )


def noise_figure(noise: NoiseMatrix) -> Figure:
    """The two class-by-class matrices as heat maps."""
    names = list(noise.names)
    ratios = [[None if i == j else float(value) for j, value in enumerate(row)] for i, row in enumerate(noise.ratios)]
    return Figure(
        "Noise of the classes",
        [
            Panel("tr(Σᵢ Σⱼ)", "class j", "class i", [Heatmap(names, names, noise.products.tolist(), "tr(Σᵢ Σⱼ)")]),
            Panel("Noise correlation ratio Γᵢⱼ", "class j", "class i", [Heatmap(names, names, ratios, "Γ")]),
        ],
        noise.note
        or "Γ large for every j: the class's atypical examples can be learned from its own noise (Theorem 1.2b).",
    )
