"""gi-rho: positivity, limits and monotone bounds of rho (Li et al. 2022, Properties 3-4)."""

from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure, Line, Panel
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Verdict, decided

SMALL, LARGE = (1e-3, 1e-2), (30.0, 300.0)


def measure(settings: Settings, seed: int) -> Numbers:
    """One property, evaluated from the integrals; nothing random but the points of the positivity check."""
    from lopsided.core.seeds import generator
    from lopsided.theory.rho import rho, rho_terms

    part = settings["part"]
    source = generator(seed, "points")
    if part == "positive":
        values = [
            rho(source.uniform(-6, 6, 3), float(np.exp(source.uniform(np.log(1e-3), np.log(1e2))))) for _ in range(200)
        ]
        return {"least": min(values), "holds": min(values) > 0}
    if part == "zero mean":
        gaps = [abs(rho([1e-7, 1e-7], s) / rho([0.0, 0.0], s) - 1) for s in (0.1, 1.0, 10.0)]
        return {"largest_gap": max(gaps), "holds": max(gaps) < 1e-6}
    if part == "zero variance":
        # Property 3.3: rho(u/s, s) -> C_s(u) > 0. The two terms tend to u_j^2 phi''(u_i)^2 and u_i^2 phi''(u_i)^2.
        u, s = 1.0, 1e-3
        decay = np.exp(-u)
        curve = float(decay / (1 + decay) ** 2 * (1 - 2 / (1 + decay)))
        first, second = rho_terms(u / s, s)
        printed = float((decay / (1 + decay) ** 2) ** 2)
        return {
            "second_term": second,
            "printed_limit": printed,
            "true_limit": u**2 * curve**2,
            "first_term": first * ((u / s) ** 2 + 1),
            "positive": second > 0,
            "holds": abs(second / printed - 1) < 0.01,
            "true_holds": abs(second / (u**2 * curve**2) - 1) < 0.01
            and abs(first * (u / s) ** 2 / curve**2 - 1) < 0.01,
        }
    if part == "small variance":
        exponent = float(np.log(rho([0.0, 0.0], SMALL[1]) / rho([0.0, 0.0], SMALL[0])) / np.log(SMALL[1] / SMALL[0]))
        return {
            "exponent": exponent,
            "constant": rho([0.0, 0.0], SMALL[0]) / SMALL[0] ** 4,
            "holds": abs(exponent - 4) < 0.01,
        }
    if part == "second term":
        second = rho_terms(0.0, SMALL[0])[1]
        return {
            "over_printed_9s2_64": second / (9 * SMALL[0] ** 2 / 64),
            "over_3s4_128": second / (3 * SMALL[0] ** 4 / 128),
            "holds": abs(second / (9 * SMALL[0] ** 2 / 64) - 1) < 0.01,
        }
    if part == "large variance":
        exponent = float(np.log(rho([0.0, 0.0], LARGE[1]) / rho([0.0, 0.0], LARGE[0])) / np.log(LARGE[1] / LARGE[0]))
        return {"exponent": exponent, "constant": rho([0.0, 0.0], 1e4) * 1e12, "holds": exponent > -3.02}
    if part == "monotone bound":
        # Property 3.4: min over [0, u] of rho is positive and does not rise with u, by construction; rho itself does
        # rise.
        grid = np.linspace(0, 6, 121)
        heights = np.array([rho([x, 1.0], 1.0) for x in grid])
        lower = np.minimum.accumulate(heights)
        return {
            "u": grid[::6].tolist(),
            "rho": heights[::6].tolist(),
            "lower": lower[::6].tolist(),
            "rho_monotone": bool(np.all(np.diff(heights) <= 0)),
            "holds": bool(lower.min() > 0),
        }
    # Lemma 4: E[(sum_i r_i^T x phi'(s x_i))^2] >= rho(mu, s) |R|_F^2 for the symmetric mixture at +-mu.
    mean, s = np.array([2.0, 2.0]), 1.0
    points = source.standard_normal((400_000, 2)) + mean
    decay = np.exp(-np.abs(s * points))
    bell = decay / (1 + decay) ** 2
    # x and -x give the same square, so one half of the mixture suffices. r1 = e1, r2 = -e2, |R|^2 = 2.
    squares = np.square(points[:, 0] * bell[:, 0] - points[:, 1] * bell[:, 1]) / 2
    value, error = float(squares.mean()), float(squares.std() / np.sqrt(len(squares)))
    bound = rho(mean, s)
    return {"value": value, "error": error, "rho": bound, "holds": value + 4 * error >= bound}


def judge(rows: Sequence[Row]) -> Verdict:
    """Every stated property, one by one."""
    results = {row.settings["part"]: dict(row.numbers) for row in rows}
    passed = [part for part, numbers in results.items() if numbers["holds"]]
    failed = [part for part, numbers in results.items() if not numbers["holds"]]
    found = f"hold: {', '.join(passed) or 'none'}; fail as printed: {', '.join(failed) or 'none'}"
    if "zero variance" in failed and results["zero variance"]["true_holds"]:
        found += "; Property 3.3's limits are u_j² phi''(u_i)² and u_i² phi''(u_i)², positive for u ≠ 0"
    if "second term" in failed:
        over = results["second term"]["over_3s4_128"]
        found += f"; Property 4's second term at zero mean is {over:.4f} times 3 s^4 / 128, not 9 s^2 / 64"
    if "Lemma 4" in failed:
        lemma = results["Lemma 4"]
        found += f"; Lemma 4 at mu = (2, 2): {lemma['value']:.5f} ± {lemma['error']:.5f} < rho = {lemma['rho']:.5f}"
    return Verdict(decided([numbers["holds"] for numbers in results.values()]), found, results)


def plot(rows: Sequence[Row]) -> Figure:
    """rho over s with its two limits, and over one mean with the monotone bound."""
    from lopsided.theory.rho import rho

    s = np.geomspace(0.02, 200, 60)
    values = [rho([0.0, 0.0], float(x)) for x in s]
    bound = next(row.numbers for row in rows if row.settings["part"] == "monotone bound")
    small, large = s[s < 3], s[s > 1.5]
    return Figure(
        "The function rho",
        [
            Panel(
                "Zero mean",
                "s",
                "rho(0, s)",
                [
                    Line(s.tolist(), values, "rho"),
                    Line(small.tolist(), (small**4 / 128).tolist(), "s^4 / 128", dashed=True),
                    Line(large.tolist(), (0.0858 * large**-3).tolist(), "0.0858 / s^3", dashed=True),
                ],
                x_log=True,
                y_log=True,
            ),
            Panel(
                "One mean grows (the other is 1, s = 1)",
                "u",
                "rho((u, 1), 1)",
                [
                    Line(bound["u"], bound["rho"], "rho"),
                    Line(bound["u"], bound["lower"], "lower bound L_m", dashed=True),
                ],
            ),
        ],
    )


PARTS = (
    "positive",
    "zero mean",
    "zero variance",
    "small variance",
    "second term",
    "large variance",
    "monotone bound",
    "Lemma 4",
)
CLAIM = Claim(
    id="gi-rho",
    rule="each property is evaluated from its integrals: limits within 1 %, exponents within 0.02, Lemma 4 within "
    "four standard errors of Monte Carlo; holds if all do, partly if at least half do, fails if none does",
    quick=Runs([{"part": part} for part in PARTS]),
    paper=Runs([{"part": part} for part in PARTS], (0,)),
    measure=measure,
    judge=judge,
    plot=plot,
    quick_budget_seconds=6,
)
