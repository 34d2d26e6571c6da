"""Command lines that people type by mistake or on purpose: `command_case(random, folder, canary)` gives one.

Every command occurs. Those that would run for long or for ever when all is well (demo, serve, bench, docs, skill --run)
are only called with something wrong.
"""

import io
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.faults.damage import damaged, written
from tests.faults.drawn_options import Case, place_for, some_flags, some_options
from tests.faults.hostile_arrays import WICKED_NAMES, Canary
from tests.faults.hostile_files import hostile_file
from tests.faults.store_cases import ADDRESSES, claims_case, reproduce_case, results_case

NUMBERS = (
    "0",
    "-1",
    "1",
    "0.5",
    "5",
    "1e-320",
    "1e-150",
    "1e150",
    "1e308",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "",
    " ",
    "x",
)
NUMBERS += ("1e", "0x10", "１２", "1_0", "9" * 400, "--", "1,5", "5e-4", "\x1b[31m", "<b>", "None", "1e-5", "2", "3")
WHOLES = ("0", "-1", "1", "2", "3", "7", "1e3", "1.5", "x", "", "9" * 30, "99999999999", "-0", "+4", "nan", "４")
WRONG_ARMS = ("", ",", "smoot", "os:system", "x:", "plain")
# valid names more often, else nearly every case would end at its options
NAMES = ("label", "labels", "group", "features") * 4
NAMES += ("y", "x", "nothing", "", ",", ",,", "x,y", "data.csv", "/dev/null", ".", "features,labels", "\x00", "y,y")
NAMES += ("probabilities", "value", *WICKED_NAMES)


def command_case(random: Random, folder: Path, canary: Path, file_kind: str | None = None) -> Case:
    """One command line; files it needs are made in `folder`, and it is told to write into folder/out."""
    (maker,) = random.choices([maker for _, maker in CASES], [weight for weight, _ in CASES])
    if file_kind is not None:
        maker = random.choice((_audit, _score, _plan, _fit))
    what, arguments = maker(random, folder, canary, file_kind)
    # No program can be started with a NUL in its arguments.
    return what, [argument.replace("\0", "") for argument in arguments]


def _audit(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    what, path = hostile_file(random, folder, canary, kind)
    name = lambda: random.choice(NAMES)  # noqa: E731
    options = {
        "--labels": name, "--groups": name, "--features": name, "--classifier": name, "--bias": name,
        "--probabilities": name, "--logits": name, "--predictions": name, "--split": name,
        "--weight-decay": lambda: random.choice(NUMBERS), "--seed": lambda: random.choice(WHOLES),
        "--checks": lambda: random.choice(("counts", "counts,duplicates", "nothing", "", ",")),
        "--fail-on": lambda: random.choice(("failing", "at-risk", "healthy", "never")),
        "--sample-rows": lambda: random.choice(("100", "1000", *WHOLES)),
        "--cluster": lambda: random.choice(ADDRESSES),
        "--baseline": lambda: random.choice(("nowhere.json", ".", "/dev/zero", str(path))),
    }  # fmt: skip
    target = ["--no-report"] if random.random() < 0.6 else ["--report", place_for(random, ".html")]
    few = some_options(random, options, 2 if random.random() < 0.5 else 0)
    return f"audit: {what}", ["audit", _argument(path), *few, *target, *some_flags(random, "--json")]


def _score(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    what, path = hostile_file(random, folder, canary, kind)
    options = {
        "--labels": lambda: random.choice(NAMES),
        "--features": lambda: random.choice(NAMES),
        "--estimator": lambda: random.choice(("auto", "sample", "shrunk", "unbiased", "other")),
        "--convention": lambda: random.choice(("n", "n-1", "m")),
        "--extremes": lambda: random.choice(WHOLES),
        "--block-rows": lambda: random.choice(("1", "7", "1000", *WHOLES)),
        "--cluster": lambda: random.choice(ADDRESSES),
        "--seed": lambda: random.choice(WHOLES),
    }
    if random.random() < 0.1:
        _, labels = hostile_file(random, _inner(folder, "labels"), canary)
        options["--labels"] = lambda: str(labels)
    out = ["--out", place_for(random, random.choice((".parquet", ".csv")))]
    if random.random() < 0.1:
        out += ["--plot", place_for(random, ".html")]
    few = some_options(random, options, 2)
    return f"score: {what}", ["score", _argument(path), *few, *out, *some_flags(random, "--json", "--noise-matrix")]


def _plan(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    what, path = hostile_file(random, folder, canary, kind)
    arms = {"--arms": lambda: random.choice((*WRONG_ARMS, "class weights,smote", "default"))}
    return f"plan: {what}", [
        "plan",
        _argument(path),
        *some_options(random, _plan_options(random) | arms, 2),
        *some_flags(random, "--json", "--why"),
    ]


def _plan_options(random: Random) -> dict[str, Callable[[], str]]:
    name = lambda: random.choice(NAMES)  # noqa: E731
    return {
        "--labels": name, "--groups": name, "--features": name, "--split": name, "--group": name,
        "--weight-decay": lambda: random.choice(NUMBERS), "--seed": lambda: random.choice(WHOLES),
        "--metric": lambda: random.choice(
            ("balanced", "worst-class", "worst-group", "overall", "best", "f1", "f1:0", "precision@recall=0.8", "cost")
        ),
        "--costs": lambda: random.choice(("0:1=5", "[[0, 1], [5, 0]]", "a:b", "{", "")),
        "--export": lambda: random.choice(("out/plan", "/dev/null/x")),
    }  # fmt: skip


def _trial(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    """Sound data take seconds to try, so nearly all of these have something wrong with their options."""
    what, path = hostile_file(random, folder, canary, kind)
    wrong = {
        "--learner": lambda: random.choice(
            ("nothing", "os:system", "builtins:eval", "x:y", "", "network(-1)", "deep(x)")
        ),
        "--folds": lambda: random.choice(("0", "1", "-3", "x", "100000")),
        "--repeats": lambda: random.choice(("0", "-1", "x")),
        "--metric": lambda: random.choice(("best", "")),
        "--report": lambda: random.choice(("nowhere/x.html", "out/x.xyz")),
        "--jobs": lambda: random.choice(("0", "-2", "x")),
        "--arms": lambda: random.choice(WRONG_ARMS),
        "--budget": lambda: random.choice(("-1", "abc", "0", "", "1e400")),
        "--split-by": lambda: "no such column",
        "--time": lambda: "no such column",
        "--sample-weight": lambda: "no such column",
    }
    options = some_options(random, _plan_options(random), 1) + some_options(random, wrong, 1)
    if not any(option in wrong for option in options):
        options += ["--learner", "nothing"]
    return f"trial: {what}", ["trial", _argument(path), *options, "--store", "store", *some_flags(random, "--json")]


def _collapse(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    number = lambda: random.choice(NUMBERS)  # noqa: E731
    options = {
        "--feature-energy": number, "--weight-energy": number, "--tau": number, "--multiplier": number,
        "--weight-decay": number, "--feature-decay": number, "--target-cosine": number,
        "--features": lambda: random.choice(("free", "relu", "other")),
        "--class-weights": lambda: counts_text(random),
    }  # fmt: skip
    arguments = some_options(random, options, 3) + some_flags(random, "--json", "--plan")
    if random.random() < 0.1:
        arguments += ["--plot", place_for(random, ".html")]
    if random.random() < 0.25:
        path = folder / f"counts.{random.choice(('csv', 'txt', 'tsv'))}"
        if random.random() < 0.3:
            _, path = hostile_file(random, folder, canary)
        else:
            lines = random.choice(("\n", ",", ";", "\r\n")).join(
                f"{random.choice(WICKED_NAMES)},{random.choice(NUMBERS)}"
                if random.random() < 0.4
                else counts_text(random)
                for _ in range(random.randrange(5))
            )
            written(path, lines.encode(errors="replace"))
        return "collapse: a file of counts", ["collapse", "--counts-file", _argument(path), *arguments]
    return "collapse: counts and energies", ["collapse", "--counts", counts_text(random), *arguments]


def counts_text(random: Random) -> str:
    """Nearly the grammar of counts."""
    terms = []
    for _ in range(random.randrange(5)):
        count = random.choice(("5000", "50", "1", "0.5", "1e5", *NUMBERS))
        times = f"*{random.choice(('5', '2', '1', '0', '-1', '1.5', 'x', '99999999', '1000000', '1*2'))}"
        terms.append(count + (times if random.random() < 0.5 else ""))
    return random.choice((",", ",", ", ", ";", " ", "\n")).join(terms)


def _mixture(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    """A specification with some fields replaced by values of another kind, or its text damaged."""
    entry = lambda: random.choice(TOML)  # noqa: E731
    usual = {"fraction": "0.5", "mean": "[0, 1]", "covariance": random.choice(("1", "[1, 2]", "[[1, 0], [0, 2]]"))}
    groups = []
    for _ in range(random.choice((1, 2, 2, 2, 3, 0))):
        fields = {key: entry() if random.random() < 0.12 else value for key, value in usual.items()}
        if random.random() < 0.1:
            fields[random.choice(("name", "other", "mean"))] = entry()
        groups.append("[[group]]\n" + "\n".join(f"{key} = {value}" for key, value in fields.items()))
    teacher = {"weights": "[[1, 0], [0, 1]]"} if random.random() < 0.5 else {"neurons": "2", "seed": "1"}
    if random.random() < 0.3:
        teacher[random.choice(("weights", "neurons", "seed", "scale", "dimension", "activation", "other"))] = entry()
    text = "\n".join([*groups, "[teacher]", *(f"{key} = {value}" for key, value in teacher.items())])
    content = text.encode()
    if random.random() < 0.15:
        content = damaged(content, random)
    path = written(folder / "spec.toml", content)
    if random.random() < 0.05:
        _, path = hostile_file(random, folder, canary)
    samples = ["--samples", random.choice(("1000", "1000", "1000", *WHOLES))]
    plot = ["--plot", random.choice(("nowhere/x.html", "out/x.xyz"))] if random.random() < 0.1 else []
    return "mixture: a specification", ["mixture", _argument(path), *samples, *plot, *some_flags(random, "--json")]


TOML = ("0", "1", "-1", "0.5", "1e300", "1e-300", "nan", "inf", "true", '"a"', "[]", "[1]", "[1, 2]", "[[1]]", "[[]]")
TOML += (
    "[[1, 2], [2, 1]]",
    "[[1, 0], [0, 1e-16]]",
    "[[1, 2]]",
    "{}",
    "2020-01-01",
    '"tanh"',
    "[[1, 0], [0]]",
    "{ a = 1 }",
)
TOML += ("99999999999999999999", "[nan, 1]", "[[1e200, 0], [0, 1]]", '"<b>x</b>"', "[true, false]", "['a', 'b']", "1_0")


def _fit(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    what, path = hostile_file(random, folder, canary, kind)
    options = {
        "--label": lambda: random.choice(NAMES), "--group": lambda: random.choice(NAMES),
        "--positive": lambda: random.choice(("1", "a", "nothing", "")), "--neurons": lambda: random.choice(WHOLES),
        "--groups": lambda: random.choice(WHOLES), "--components": lambda: random.choice(WHOLES),
        "--samples": lambda: random.choice(WHOLES), "--seed": lambda: random.choice(WHOLES),
    }  # fmt: skip
    return f"mixture fit: {what}", [
        "mixture",
        "fit",
        _argument(path),
        *some_options(random, options, 2),
        *some_flags(random, "--json"),
    ]


def _compare(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    paths = [_checkpoint(random, _inner(folder, name), canary) for name in ("before", "after")]
    arguments = ["compare", *map(str, paths)]
    arguments += some_options(
        random, {"--head": lambda: random.choice(NAMES), "--plot": lambda: place_for(random, ".html")}, 1
    )
    return "compare: two checkpoints", [*arguments, *some_flags(random, "--json", "--common")]


def _checkpoint(random: Random, folder: Path, canary: Path) -> Path:
    from safetensors.torch import save

    import torch

    kind = random.randrange(8)
    scale = random.choice((1.0, 1.0, 0.0, 1e-30, 1e30, float("nan"), float("inf")))
    dtype = random.choice((torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64))
    weights = {
        "layer.weight": (torch.ones(3, 4) * (scale if dtype.is_floating_point else 1)).to(dtype),
        random.choice(("head.weight", random.choice(WICKED_NAMES))): torch.randn(random.choice((2, 3)), 3),
        "head.bias": torch.zeros(random.choice((2, 3))),
    }
    if kind == 0:
        return hostile_file(random, folder, canary)[1]
    if kind <= 3:
        content = save({name.replace("\0", ""): value for name, value in weights.items()})
        if kind == 2:
            content = damaged(content, random)
        if kind == 3:  # a header longer than the file, or one that is no JSON
            content = (
                random.choice((b"\xff" * 8, (10**15).to_bytes(8, "little"), len(content).to_bytes(8, "little")))
                + content[8:]
            )
        return written(folder / "model.safetensors", content)
    stream = io.BytesIO()
    holder: Any = random.choice((weights, {"state_dict": weights}, {"model": {}}, [], 3, weights["layer.weight"]))
    if kind == 4:
        holder = {"state_dict": weights, "callback": Canary(canary)}
    torch.save(holder, stream, _use_new_zipfile_serialization=random.random() < 0.7)
    content = stream.getvalue()
    return written(
        folder / random.choice(("model.pt", "model.ckpt")), damaged(content, random) if kind == 5 else content
    )


def _others(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    """Commands that run long or for ever when nothing is wrong."""
    word = lambda: random.choice((*NUMBERS, *WICKED_NAMES))  # noqa: E731
    (folder / "taken").write_text("a file")
    return "other commands: wrong options", random.choice(
        (
            ["demo", "--out", random.choice(("out/x.xyz", "nowhere/x.html", "out", ""))],
            ["demo", "--seed", random.choice(("-1", "x", "1.5", ""))],
            ["data", random.choice(("put", "get", "", "\x1b[31m")), "--data-dir", "out"],
            ["data", "get", word(), "--data-dir", random.choice(("out", "taken", "", "/dev/null"))],
            ["data", "get", "celeba", "--data-dir", "out", "--mirror", random.choice(("http://127.0.0.1:9/", word()))],
            ["data", "example", random.choice(("rare-tumours", word())), "--out", place_for(random, ".csv")],
            ["data", *some_flags(random, "--json"), "--data-dir", random.choice(("out", "nowhere", "taken"))],
            ["serve", "--port", random.choice(("-1", "65536", "x", "", "1e3", "99999999999"))],
            ["serve", "--host", random.choice(("nowhere.invalid", "256.1.1.1", "::g", "a b", "192.0.2.1"))],
            ["serve", "--token-file", random.choice(("nowhere", ".", "", "/dev/zero")), "--port", "-1"],
            ["serve", "--data-dir", "nowhere"],
            ["serve", "--store", "taken", "--port", "-1"],
            ["bench", "nothing", word()],
            ["docs", "--out", "taken"],
            ["docs", "--gallery", "all"],
            ["skill", "--family", random.choice(("nothing", "", "<b>"))],
            ["skill", "--split", "both"],
            ["skill", "--tasks", random.choice(("0", "-1", "x"))],
            ["skill", "--publish", "nowhere/x.json"],
            ["skill", *some_flags(random, "--json")],
            [word()],
            [
                random.choice(
                    ("audit", "score", "plan", "trial", "compare", "mixture", "collapse", "reproduce", "results")
                )
            ],
            [random.choice(("audit", "score", "collapse")), f"--{word()}"],
            ["audit", "--help"],
            ["--version"],
        )
    )


def _inner(folder: Path, name: str) -> Path:
    (folder / name).mkdir(exist_ok=True)
    return folder / name


def _argument(path: Path) -> str:
    return str(path)


CASES: tuple[tuple[int, Callable[..., Case]], ...] = (
    (26, _audit),
    (22, _score),
    (7, _plan),
    (7, _trial),
    (22, _collapse),
    (10, _mixture),
    (8, _fit),
    (8, _compare),
    (8, results_case),
    (4, claims_case),
    (4, reproduce_case),
    (8, _others),
)
