"""The trial: remedies side by side by repeated stratified cross-validation, each outcome beside its forecast.

Every arm trains and is tested on the same folds, so differences are paired; intervals are those of `paired_scores`.
Forecasts are made again inside each fold of the first repeat, from its
training rows alone. The winner is the arm with the largest gain among those whose interval, widened for the number of
arms (Bonferroni), lies above zero; without such an arm there is none. `tied_with` names the arms that it is not shown
to beat.

Collection is simulated: half of the subject's training examples are held back and then added, so its gain is what
going from half to all of them brought, and it cannot win, because the data that would follow are not there yet.
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.training_set import training_set
from lopsided.checkup.plan.plan import chosen_metric, measured_recipe, plan_for
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.entries import trial_entries, trial_notes
from lopsided.checkup.trial.judge import TrialJudge
from lopsided.checkup.trial.learner_identity import learner_identity
from lopsided.checkup.trial.result import Trial
from lopsided.checkup.trial.run import TrialRun
from lopsided.core.errors import InputError
from lopsided.core.progress import ProgressStart
from lopsided.core.seeds import check_seed
from lopsided.core.validation import check_count
from lopsided.engine.store import Store
from lopsided.learners.named_learner import make_learner
from lopsided.measure.paired_scores import METRICS


def run_trial(
    evidence: Evidence,
    plan: Plan | None = None,
    *,
    learner: Any = "logistic",
    metric: str | None = None,
    group: str | None = None,
    recipe: Mapping[str, Any] | None = None,
    folds: int = 5,
    repeats: int = 2,
    seed: int = 0,
    jobs: int | None = 1,
    store: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    forecasts: bool = True,
    progress: ProgressStart | None = None,
) -> Trial:
    """Train the plan's arms, plain training and simulated collection side by side.

    learner: logistic, boosting, network or deep (both with the evidence's weight decay), package.module:Class, or a
    scikit-learn classifier. metric: balanced, worst-class, worst-group or overall; the plan's where there is one.
    recipe: settings of the network for the oversampling rates, as `remedies.Recipe` takes them.
    store: the folder that keeps finished folds. forecasts: make them again inside the folds; each costs a pilot.
    """
    began = time.perf_counter()
    folds, repeats = check_count(folds, "the folds", at_least=2), check_count(repeats, "the repeats")
    training = training_set(evidence, group=group)
    wanted = chosen_metric(metric if metric is not None or plan is None else plan.metric, training)
    if training.size < 2 * folds:
        raise InputError(f"at least {2 * folds} training rows for {folds} folds", training.size, "use fewer folds")
    if folds * repeats < 3:
        raise InputError("at least three folds in all for an interval", folds * repeats, "use more folds or repeats")
    if isinstance(learner, str) and learner in ("network", "deep") and evidence.weight_decay is not None:
        learner = f"{learner}({evidence.weight_decay!r})"
    made = make_learner(learner, 0) if isinstance(learner, str) else _checked_learner(learner)
    if plan is None:
        known = recipe if recipe is not None else measured_recipe(evidence)
        plan = plan_for(training, metric=metric, recipe=known, seed=check_seed(seed))
    entries = trial_entries(plan, training, made, folds, wanted)
    known_by = learner_identity(made)
    run = TrialRun(
        training, entries, plan, learner, known_by, wanted, folds, repeats, check_seed(seed), Store(store), forecasts
    )
    run.work(jobs, fresh, progress)
    judge = TrialJudge(run)
    arms = judge.arms()
    winner, tied = judge.winner(arms)
    return Trial(
        source=training.source,
        learner=learner if isinstance(learner, str) else repr(learner),
        metric=METRICS[wanted].name,
        folds=folds,
        repeats=repeats,
        seed=seed,
        rows=training.size,
        classes=tuple(training.classes.names),
        groups=None if training.groups is None else training.groups.name,
        arms=tuple(arms),
        winner=winner,
        tied_with=tuple(tied),
        notes=tuple(trial_notes(training, folds, plan)),
        plan=plan,
        reused=run.reused,
        fit_seconds=run.fit_seconds,
        seconds=time.perf_counter() - began,
    )


def trial(
    data: Any = None,
    *,
    labels: Any = None,
    groups: Any = None,
    features: Any = None,
    split: Any = None,
    weight_decay: float | str | None = None,
    **options: Any,
) -> Trial:
    """Try remedies on your data, cross-validated, against their forecasts.

    data: a path, a frame, a mapping of arrays or an array of features; labels, groups, features, split and weight_decay
    as `lopsided.audit` takes them; `options` are those of `run_trial` (learner, metric, group, recipe, folds, repeats,
    jobs, seed, store, fresh, forecasts, progress).

    >>> outcome = trial("my.csv", labels="outcome", groups=["sex", "race"], learner="boosting")  # doctest: +SKIP
    """
    from lopsided.checkup.inputs.gather import gather

    evidence = gather(data, labels=labels, groups=groups, features=features, split=split, weight_decay=weight_decay)
    return run_trial(evidence, **options)


def _checked_learner(learner: Any) -> Any:
    for method in ("fit", "predict", "get_params"):
        if not callable(getattr(learner, method, None)):
            raise InputError(
                "a learner's name or a scikit-learn classifier", type(learner).__name__, f"it has no method {method}"
            )
    return learner
