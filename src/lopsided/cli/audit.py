"""`lopsided audit`: which classes and groups of your data fail or are about to, why, and what to do about it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lopsided.cli import options

if TYPE_CHECKING:
    from lopsided.checkup.audit import AuditFacts
    from lopsided.report.audit import Audit


BROKEN = 3  # exit code where a check failed because of a bug in lopsided; the other findings are valid


def command(
    data: options.Data,
    labels: options.Labels = None,
    many_classes: options.ManyClasses = False,
    name: options.Name = None,
    groups: options.Groups = None,
    features: options.FeaturesOption = None,
    classifier: Annotated[str | None, typer.Option(help="Array of classifier weights (K x p).")] = None,
    bias: Annotated[str | None, typer.Option(help="Array of the classifier's biases.")] = None,
    probabilities: Annotated[
        str | None, typer.Option(help="Array or columns (comma-separated) of predicted probabilities.")
    ] = None,
    logits: Annotated[
        str | None, typer.Option(help="Array or columns (comma-separated) of logits, instead of probabilities.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="Class names (comma-separated), in the order of the classifier's rows and of unnamed probabilities."
        ),
    ] = None,
    predictions: Annotated[str | None, typer.Option(help="Column or array of predicted labels.")] = None,
    split: options.SplitOption = None,
    weight_decay: options.WeightDecay = None,
    checks: Annotated[str | None, typer.Option(help="Run only these checks, comma-separated.")] = None,
    report: Annotated[Path | None, typer.Option(help="Report to write (.html; default: DATA-audit.html).")] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write a report.")] = False,
    with_plan: Annotated[
        bool, typer.Option("--plan", help="Add the plan of remedies to the report and the output.")
    ] = False,
    fail_on: Annotated[
        str | None, typer.Option(help="at-risk or failing: exit with code 1 if a finding is at least that bad.")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(help="JSON of an earlier audit: exit with code 1 only for findings that are new or worse."),
    ] = None,
    sample_rows: Annotated[
        int, typer.Option(help="Number of sampled rows, for a folder of parquet or a file too large for memory.")
    ] = 200_000,
    cluster: options.ClusterAddress = None,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    show_all: Annotated[bool, typer.Option("--all", help="Print healthy findings in full too.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed of samples and intervals.", min=0)] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Check data and predictions for failing classes and groups.

    Looks at counts, features, labels, duplicates and groups and, if given, at predictions and the last layer of the
    model. Checks that cannot run are listed with what they need. Writes a report that opens offline.
    """
    given = dict(locals())
    from lopsided.checkup.audit import level_of
    from lopsided.checkup.baseline import read_baseline
    from lopsided.cli.console import Late, print_json, print_line
    from lopsided.cli.plan import print_plan
    from lopsided.cli.progress import progress_steps
    from lopsided.core.errors import InputError
    from lopsided.report.audit import audit
    from lopsided.report.drawing import check_report_path

    if no_report and report is not None:
        raise InputError("--report or --no-report", "both", "leave one of them out")
    earlier = None if baseline is None else read_baseline(baseline)
    limit = level_of(fail_on or "at-risk") if fail_on is not None or earlier is not None else None
    target = None if no_report else check_report_path(report or options.default_file(data, "-audit.html"))
    late = Late()
    with progress_steps("auditing", quiet=as_json) as progress:
        workers = options.cluster(cluster, tls_ca, tls_cert, tls_key)
        result = audit(**options.options_for(audit, given, progress=progress, cluster=workers))
        changed = None if earlier is None else result.since(earlier)
        shut = limit is not None and (result.level.rank >= limit.rank if changed is None else not changed.passed(limit))
        if limit is not None and not shut and result.unchecked is not None:
            raise result.unchecked
        plan, refused = None, None
        if with_plan:
            try:
                plan = result.plan()
            except InputError as error:  # said at the end: what was found is shown and written all the same
                refused = error
        if target is not None:
            progress(1, 1, "writing the report")
            target = late.write(result.to_html, target, plan=plan)
    if as_json:
        facts: dict[str, Any] = {**result.to_dict(), "report": target}
        if plan is not None:
            facts["plan"] = plan.to_dict()
        if changed is not None:
            facts["since_baseline"] = changed.to_dict()
        print_json(facts)
    else:
        _show(result, target, in_full=show_all)
        if changed is not None:
            print_line(changed.sentence())
        if plan is not None:
            print_plan(plan)
    late.tell()
    if refused is not None:
        raise refused
    if shut:
        raise typer.Exit(1)
    if result.broken:
        broken = ", ".join(result.broken)
        typer.echo(f"lopsided: {broken} failed because of a bug in lopsided; the other findings are valid.", err=True)
        raise typer.Exit(BROKEN)


def print_alarms(result: "AuditFacts") -> None:
    """The columns used, the verdict, and every finding that is not healthy."""
    from lopsided.checkup.checks.finding import Level
    from lopsided.cli.console import print_line, print_rows

    for line in result.opening():
        print_line(line)
    alarms = [finding for finding in result.findings if finding.level is not Level.HEALTHY]
    if alarms:
        rows = [[one.level.value, one.subject, f"{one.message} {one.remedy}"] for one in alarms]
        print_rows("", ("level", "subject", "finding, and what to do"), rows)


def _show(result: "Audit", target: Path | None, *, in_full: bool) -> None:
    from lopsided.checkup.checks.finding import Level
    from lopsided.cli.console import print_line, print_rows

    print_alarms(result)
    healthy = [finding for finding in result.findings if finding.level is Level.HEALTHY]
    if healthy and in_full:
        print_rows("Healthy", ("check", "finding"), [[one.id, one.message] for one in healthy])
    elif healthy:
        print_line(f"Healthy: {', '.join(dict.fromkeys(one.id for one in healthy))} (--all prints the details).")
    for why in dict.fromkeys(entry.why for entry in result.skipped):
        print_line(f"Not run: {', '.join(entry.check for entry in result.skipped if entry.why == why)}: {why}.")
    for note in result.evidence.notes:
        if note not in result.evidence.unmet:  # the verdict opens with those
            print_line(note)
    shown = result.findings if in_full else [one for one in result.findings if one.level is not Level.HEALTHY]
    for check, told in {one.id: one.skill for one in shown if one.skill}.items():
        print_line(f"{check}: {told}")
    print_line(f"{result.seconds:.1f} s" + (f"; report: {target}" if target else ""))
