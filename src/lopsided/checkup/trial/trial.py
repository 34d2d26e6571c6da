"""The trial: remedies compared by repeated stratified cross-validation, each result next to its forecast.

Every arm trains and is tested on the same folds, so differences are paired; intervals are those of `paired_scores`.
Forecasts are made again inside each fold of the first repeat, from its
training rows alone. The recommendation is the arm with the largest expected gain, given the measurement and what such
remedies gained on other data (`checkup.decision`). Significance is another question: the winner is the arm with the
largest gain among those whose interval, widened to hold for all arms at once, lies above zero; without such an
arm there is none. `tied_with` names the arms that it is not shown to beat.

Collection is simulated: half of the subject's training examples are held back and then added, so its gain is what
going from half to all of them brought, and it cannot win, because the data that would follow are not there yet.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided.checkup.inputs.arguments import shared_parameters
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.inputs.training_set import training_set
from lopsided.checkup.plan.plan import chosen_metric, measured_recipe, plan_for, small_groups
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.folding import about_copies, about_design, folded
from lopsided.checkup.trial.judge import TrialJudge
from lopsided.checkup.trial.race import MOST, Race, seconds_of
from lopsided.checkup.trial.result import Trial
from lopsided.checkup.trial.run import Entry, TrialRun, trial_entries
from lopsided.checkup.trial.task import HELD_BACK, keeps_probabilities
from lopsided.core.errors import InputError, cut
from lopsided.core.parameters import taken_by
from lopsided.core.progress import ProgressStart
from lopsided.core.seeds import check_seed
from lopsided.data.labelled_set import LabelledSet
from lopsided.engine.store import Store
from lopsided.learners.learner_identity import learner_identity
from lopsided.learners.named_learner import check_learner, encoding_of, gives_probabilities, learner_name, make_learner
from lopsided.measure.metrics.named import Asked
from lopsided.remedies.learner import why_no_numbers
from lopsided.remedies.learner_balance import by_codes, own_factors
from lopsided.remedies.pilot import some_classes

if TYPE_CHECKING:
    from lopsided.checkup.inputs.arguments import ColumnLike, ColumnsLike, DataLike

FOLDS, REPEATS = 5, 2
TRIAL_CLASSES = 100  # of more than a thousand: their logits are computed in each of some hundred fits
OVER = 1.5  # a time limit that is overrun by more than that is worth a note
_TRAINED = "Thresholds were tuned and forecasts made for {}."


@shared_parameters
def trial(
    data: "DataLike | Evidence | LabelledSet | None" = None,
    plan: Plan | None = None,
    *,
    labels: "ColumnLike | None" = None,
    groups: "ColumnsLike | None" = None,
    features: "ColumnLike | None" = None,
    split: "ColumnLike | None" = None,
    split_by: "ColumnLike | None" = None,
    time: "ColumnLike | None" = None,
    sample_weight: "ColumnLike | None" = None,
    weight_decay: float | str | None = None,
    many_classes: bool = False,
    name: str | None = None,
    learner: Any = "logistic",
    arms: Sequence[Any] | None = None,
    metric: Asked | None = None,
    costs: Any = None,
    group: str | None = None,
    recipe: Mapping[str, Any] | None = None,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    budget: float | str | None = None,
    cv: Any = None,
    recalibrate: bool = False,
    seed: int = 0,
    jobs: int | None = 1,
    store: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    forecasts: bool = True,
    progress: ProgressStart | None = None,
) -> Trial:
    """Compare remedies on your data by cross-validation, each gain next to its forecast.

    Plain training, every remedy of the plan and simulated collection are trained and tested on the same folds. Test
    rows of `split` are not used. Finished folds are kept, so an interrupted trial resumes where it stopped. More than
    1,000 classes are compared on 100 of them, drawn evenly over their sizes.

    Parameters
    ----------
    {inputs}
    plan : Plan, optional
        What to try, as `lopsided.plan` gives it. Without it, a plan is made first.
    learner : str or scikit-learn classifier, default "logistic"
        logistic, boosting, network or deep (PyTorch; both networks with `weight_decay`), a class as
        package.module:Class, or a classifier of your own.
    group : str, optional
        The partition whose worst group counts, if there are several.
    recipe : dict, optional
        Settings of the network for the oversampling rates, as `lopsided.remedies.Recipe` takes them.
    folds : int, default 5
        Folds of the cross-validation.
    repeats : int, default 2
        How often it is repeated with other folds. With a budget, as often as the time allows; with `time`, once.
    budget : float or str, optional
        A time limit in seconds, or as "60s", "2m": arms that can no longer be best are dropped, and the time goes to
        repeats of the others.
    cv : int, scikit-learn splitter or iterable of (train, test), optional
        Other folds. A splitter that needs groups gets `split_by`; pairs hold positions of rows. Splits that test a
        row again are further repeats.
    recalibrate : bool, default False
        Calibrate each arm's probabilities on held-out rows of its training part, which costs five more fits each. Its
        decisions do not change.
    jobs : int, optional
        Number of processes; None for all cores. A classifier of your own runs in the present process.
    store : path, optional
        The folder that keeps finished folds. By default, $LOPSIDED_STORE or ./lopsided-results.
    fresh : bool, default False
        Train again, even if results are stored.
    forecasts : bool, default True
        Make the forecasts again inside the folds, from their training rows alone; each fold costs a pilot.
    progress : callable, optional
        Called with the number of tasks; returns a function that is called with the number that have just ended.

    Returns
    -------
    Trial
        `recommendation` (what to use, with its expected gain and chances); `arms` with their metrics, gains and
        forecasts; `winner`, None unless one is shown to be better than plain training; `tied_with`.

    Examples
    --------
    >>> outcome = trial("my.csv", labels="outcome", groups=["sex", "race"], learner="boosting")  # doctest: +SKIP
    """
    given, began = dict(locals()), perf_counter()
    evidence = Evidence(data.source, data.size) if isinstance(data, LabelledSet) else data
    if not isinstance(evidence, Evidence):
        evidence = gather(**taken_by(gather, given))
    own = not isinstance(learner, str) or encoding_of(learner, sparse=False, gaps=False) is None
    whole = data if isinstance(data, LabelledSet) else training_set(evidence, group=group, own=own)
    training, folds, repeats = folded(whole, cv, folds, repeats, check_seed(seed))
    training = some_classes(training, TRIAL_CLASSES)
    asked = metric if metric is not None or costs is not None or plan is None else plan.measured_in or plan.metric
    wanted = chosen_metric(asked, training, costs)
    if isinstance(learner, str) and learner in ("network", "deep") and evidence.weight_decay is not None:
        learner = f"{learner}({evidence.weight_decay!r})"
    made = make_learner(learner, 0) if isinstance(learner, str) else check_learner(learner)
    if plan is not None and arms is not None:
        raise InputError("a plan or arms", "both", "leave one of them out")
    if plan is None:
        known = recipe if recipe is not None else measured_recipe(evidence)
        named = None if asked is None and costs is None else wanted
        plan = plan_for(whole, metric=named, recipe=known, learner=learner, seed=check_seed(seed), arms=arms)
    if wanted.needs_probabilities and not (gives_probabilities(made) and keeps_probabilities(training)):
        got = "too many rows and classes to keep them" if gives_probabilities(made) else f"{learner_name(made)} without"
        raise InputError(f"probabilities for {wanted.name}", got, "choose a metric of predictions, or another learner")
    drawn = len(training.classes.names) < len(whole.classes.names)
    no_numbers = why_no_numbers(learner, training.features)
    entries = trial_entries(plan, training, made, folds, wanted.aim, no_numbers, drawn=drawn)
    if recalibrate and not gives_probabilities(made):
        raise InputError("a learner with predict_proba to recalibrate", learner_name(made), "leave out recalibrate")
    known_by, kept = learner_identity(made), Store(store)
    kept.sweep()
    run = TrialRun(
        training, entries, plan, learner, known_by, wanted, folds, repeats, seed, kept, forecasts, recalibrate
    )
    raced: list[str] = []
    if budget is None:
        run.work(jobs, fresh, progress)
    else:
        race = Race(partial(run.work, jobs, fresh, progress), lambda: TrialJudge(run, wanted).recommendation())
        fixed = training.design.given is not None or training.design.time is not None
        limit = seconds_of(budget)
        dropped = race.run(limit - (perf_counter() - began), repeats if fixed else MOST)
        raced = _about_race(dropped, perf_counter() - began, limit)
    notes = [*_notes(training, folds, plan, made, entries), *about_design(training, folds, seed, recalibrate)]
    if drawn:
        notes.insert(0, _about_classes(training, whole))
    notes += [*about_copies(evidence, training, seed), *raced]
    return _judged(run, [training.columns.sentence(), *notes], began, wanted)


def _judged(run: TrialRun, notes: Sequence[str], began: float | None, asked: Asked, costs: Any = None) -> Trial:
    """What the finished run says by a metric, the one it was asked for or another."""
    began = perf_counter() if began is None else began
    training, learner, plan = run.training, run.learner, run.plan
    metric = chosen_metric(asked, training, costs)
    judge = TrialJudge(run, metric)
    arms = judge.arms()
    winner, tied = judge.winner(arms)
    return Trial(
        source=training.source,
        learner=learner if isinstance(learner, str) else repr(learner),
        metric=metric.name,
        folds=run.folds,
        repeats=max(run.repeats_of.values()),
        seed=run.seed,
        rows=training.size,
        classes=tuple(training.classes.names),
        groups=None if training.groups is None else training.groups.name,
        arms=tuple(arms),
        winner=winner,
        tied_with=tuple(tied),
        notes=(*notes, *([] if metric == run.metric else [_TRAINED.format(run.metric.name)])),
        recommendation=judge.recommendation(),
        measured=judge.measured,
        plan=plan,
        training=training,
        reused=run.reused,
        fit_seconds=run.fit_seconds,
        seconds=perf_counter() - began,
        measured_in=metric,
        judged=partial(_judged, run, notes, None),
    )


def _about_classes(training: LabelledSet, whole: LabelledSet) -> str:
    return (
        f"The arms were compared on {len(training.classes.names):,} of the {len(whole.classes.names):,} classes, drawn "
        f"evenly over their sizes, with {training.size:,} of {whole.size:,} rows."
    )


def _about_race(dropped: Mapping[str, int], took: float, limit: float) -> list[str]:
    """Which arms were not repeated to the end, and whether one repeat of all took longer than the limit."""
    told = ", ".join(f"{name} (after {repeats} repeats)" for name, repeats in dropped.items())
    notes = [f"Dropped, because they could no longer be best: {told}."] if dropped else []
    if took > OVER * limit:
        notes.append(f"All arms are tried at least once, which took longer than the time limit: {took:.0f} s.")
    return notes


def _notes(training: LabelledSet, folds: int, plan: Plan, learner: Any, entries: Sequence[Entry]) -> list[str]:
    """What a reader should know beside the numbers."""
    notes = list(plan.notes)
    by_itself = own_factors(by_codes(learner, training.classes.names), training)[1]
    if by_itself:
        notes.append(
            f"{learner_name(learner)} {by_itself} by itself. Logit adjustment, threshold moving and class weights take "
            "that into account; forecasts do not."
        )
    notes += [note for note in small_groups(training) if note not in notes]
    counts = training.classes.counts
    single = [training.classes.names[code] for code in np.flatnonzero(counts == 1)]
    small = int(np.count_nonzero((counts > 1) & (counts < folds)))
    if single:
        notes.append(f"Classes with one example are trained on but not judged: {', '.join(single[:8])}.")
    if small:
        notes.append(f"{small} classes have fewer examples than folds; each example is still tested once a repeat.")
    if not keeps_probabilities(training):
        notes.append(
            "Metrics that need probabilities are left out, because there are too many rows and classes to keep them."
        )
    if any(entry.remedy.collects is not None and entry.skipped is None for entry in entries):
        notes.append(
            f"Collecting is simulated: {HELD_BACK:.0%} of the training examples of the class or group are held back, "
            "then added. The gain is relative to training without them."
        )
    return [cut(note) for note in notes]
