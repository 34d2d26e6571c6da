"""An audit leads to plan and trial, and its page shows both."""

import numpy as np

import lopsided


def test_from_audit_to_trial(tmp_path) -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(["often", "seldom"], [120, 30])
    features = random.standard_normal((150, 2)) + 1.5 * (labels == "seldom")[:, None]
    found = lopsided.audit(features, labels=labels)
    plan = found.plan()
    trial = found.trial(plan, store=tmp_path, repeats=1)
    page = found.to_html(plan=plan, trial=trial)
    assert "logit adjustment" in page
    assert trial.sentence().split(":")[0] in page
    assert {"often", "seldom"} == set(plan["class weights"].parameters["class_weights"])
