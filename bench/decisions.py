"""Is the advice right? Regret of recommendations on tables that nobody here prepared, beside rules of thumb.

`bench.keel.study` measures what every arm gains, `bench.keel.prior_fit` estimates the prior of `checkup.decision` from
it, `bench.keel.judging` what advice loses. Sets are halved by a hash of their source (all `yeast*` in one half): the
prior is fitted on the development half, and both halves are printed.

    python -m bench.decisions --measure logistic boosting     what is slow
    python -m bench.decisions --gather                        its means, into docs/measured/decisions.json
    python -m bench.decisions --forecasts logistic            a pilot's forecasts again, into the same
    python -m bench.decisions --rooms                         what plain training leaves to gain, into the same
    python -m bench.decisions --again "balanced bagging"      arms that changed since, with boosting, into the same
    python -m bench.decisions --fit                           the prior, from those
    python -m bench.decisions --table                         regrets, calibration, power, ranks
    python -m bench.decisions --page                          the same, into docs/decisions.md

`./lopsided bench decisions` does the first and the last but one; its quick form on one cut of the smallest set of
each of twenty sources, about five minutes of one core. What was measured is kept (`bench.keel.study`), so either goes
on where it was interrupted.
"""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from bench.keel.judging import calibration, every_regret, plan_scores, power, ranks, where
from bench.keel.prior_fit import PRIOR, fit
from bench.keel.study import (
    CUTS,
    LEARNERS,
    PLANS,
    PUBLISHED,
    TRIALS,
    Study,
    development,
    forecast,
    gathered,
    keel_names,
    kept,
    measure,
    measure_again,
    published,
    quick_names,
    replace_arms,
    room,
)

from lopsided.core.files import write_atomically
from lopsided.remedies.named import kind_named

QUICK_CUTS = 1
PAGE = Path(__file__).resolve().parents[1] / "docs/decisions.md"
MARKS = ("<!-- written by bench/decisions.py --page -->", "<!-- end -->")


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows with what and note: the study, measured where it is not, then its tables. Rows with `doing` tell how far it
    is."""
    names, cuts = (quick_names(), QUICK_CUTS) if quick else (keel_names(), CUTS)
    total = len(LEARNERS) * len(names) * cuts
    began, before = time.process_time(), 0
    for done, (cut, name, learner) in enumerate(product(range(cuts), names, LEARNERS)):
        yield {"doing": f"{done} of {total} cuts, now {learner} on {name}"}
        before += kept(learner, f"{name}-{cut}.json").exists()
        measure(learner, name, cut)
    note = f"{total} cuts of {len(names)} sets, {before} of them measured before; processor time"
    yield {"what": "measuring", "seconds": time.process_time() - began, "note": note}
    yield from table([Study(learner, gathered(learner, names, cuts)) for learner in LEARNERS])


def table(studies: Sequence[Study]) -> Iterator[dict[str, Any]]:
    """Regrets of every rule, how often stated chances and intervals held, and ranks of whole classifiers."""
    for study in studies:
        cuts = [found["cuts"] for found in study.sets.values()]
        least = f"{min(cuts)} to {max(cuts)}" if min(cuts) < max(cuts) else f"{min(cuts)}"
        note = f"{least} cuts and up to {TRIALS} trials of each of {len(cuts)} sets"
        yield {"what": f"{study.learner}: measured", "note": note}
    for (study, half), rules in every_regret(studies).items():
        for rule, regret in sorted(rules.items(), key=lambda entry: entry[1]):
            note = f"regret {regret:.2f} points of balanced accuracy; {where(half)}"
            yield {"what": f"{study.learner}: {rule}", "note": note}
        names = [name for name in study.names if development(name) == half]
        yield from calibration(study, names, half)
        yield from power(study, names, half)
    yield from ranks(studies)


def page(studies: Sequence[Study]) -> str:
    """The tables of docs/decisions.md."""
    regrets = every_regret(studies)
    heads = [f"{study.learner}, {'development' if half else 'held out'}" for study, half in regrets]
    rules = sorted(next(iter(regrets.values())), key=lambda rule: sum(found[rule] for found in regrets.values()))
    lines = ["| regret in points of balanced accuracy | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    lines += [f"| {rule} | " + " | ".join(f"{found[rule]:.2f}" for found in regrets.values()) + " |" for rule in rules]
    others = [row for row in table(studies) if "regret" not in row["note"]]
    lines += ["", "| what | found |", "|---|---|", *[f"| {row['what']} | {row['note']} |" for row in others]]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """The stages by themselves."""
    if "--measure" in arguments:
        names = keel_names()
        for cut in range(CUTS):
            for name in names:
                for learner in [word for word in arguments if word in LEARNERS]:
                    measure(learner, name, cut)
                    print(learner, name, cut, flush=True)
    if "--gather" in arguments:
        found = {learner: gathered(learner, keel_names(), CUTS) for learner in LEARNERS}
        write_atomically(PUBLISHED, json.dumps(found, separators=(",", ":")) + "\n")
    if "--forecasts" in arguments:
        found = {study.learner: study.sets for study in published()}
        for learner in [word for word in arguments if word in LEARNERS]:
            for name, of_set in found[learner].items():
                of_set["forecasts"] = [forecast(learner, name, cut) for cut in range(PLANS)]
        write_atomically(PUBLISHED, json.dumps(found, separators=(",", ":")) + "\n")
    if "--rooms" in arguments:
        found = {study.learner: study.sets for study in published()}
        for learner, sets in found.items():
            for name, of_set in sets.items():
                for cut, trial in enumerate(of_set["trials"]):
                    trial["room"] = round(room(learner, name, cut), 5)
                print(learner, name, flush=True)
        write_atomically(PUBLISHED, json.dumps(found, separators=(",", ":")) + "\n")
    if "--again" in arguments:  # names of arms, of boosting, which changed after the others were measured
        kinds = [kind_named(word, "arms") for word in arguments[arguments.index("--again") + 1 :] if word[0] != "-"]
        found = {study.learner: study.sets for study in published()}
        for cut in range(CUTS):
            for name, of_set in found["boosting"].items():
                if cut < of_set["cuts"]:
                    measure_again("boosting", name, cut, kinds)
            print("boosting", "cut", cut, flush=True)
        for name, of_set in found["boosting"].items():
            replace_arms("boosting", name, of_set, kinds)
        write_atomically(PUBLISHED, json.dumps(found, separators=(",", ":")) + "\n")
    if "--fit" in arguments:
        prior = fit(published())
        write_atomically(PRIOR, json.dumps(prior | {"score": {}}, separators=(",", ":")) + "\n")
        scored = prior | {"score": plan_scores(published())}
        write_atomically(PRIOR, json.dumps(scored, separators=(",", ":")) + "\n")
    if "--page" in arguments:
        before, after = PAGE.read_text().split(MARKS[0])[0], PAGE.read_text().split(MARKS[1])[1]
        write_atomically(PAGE, f"{before}{MARKS[0]}\n{page(published())}\n{MARKS[1]}{after}")
    if "--table" in arguments:
        for row in table(published()):
            print(f"{row['what']}: {row['note']}")


if __name__ == "__main__":
    main(sys.argv[1:])
