"""Command lines about results: SQL, claims and runs, over stores that are damaged or none."""

import json
import os
from pathlib import Path
from random import Random

from tests.faults.damage import written
from tests.faults.drawn_options import Case, some_flags, some_options

ADDRESSES = ("", "x", "tcp://", "tls://a:1", "http://[", "tcp://127.0.0.1:x")

QUESTIONS = (
    "select 1",
    "select * from tasks",
    "select claim, avg(seconds) from tasks group by claim",
    "drop table tasks",
)
QUESTIONS += (
    "select * from read_csv('/etc/passwd')",
    "copy tasks to 'out/x'",
    "attach 'out/x.db'",
    "select",
    "'",
    "",
    ";",
)
QUESTIONS += (
    "select 1; select 2",
    "install httpfs",
    "select * from nothing",
    "pragma version",
    "select 1/0",
    "select -- x",
)
QUESTIONS += (
    "select * from tasks, tasks, numbers",
    "with recursive t as (select 1) select * from t",
    "select '\x1b[31m'",
)
QUESTIONS += (
    "set enable_external_access = true",
    "select getenv('HOME')",
    "export database 'out'",
    "select '<b>' as \"<b>\"",
)
QUESTIONS += (
    "select repeat('x', 100000)",
    "select 'nan'::double, 'inf'::double",
    "select blob '\\xff', interval 1 day, {a: 1}",
)


def results_case(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    store = hostile_store(random, folder)
    question = random.choice(QUESTIONS)
    if random.random() < 0.3:
        question = "".join(
            random.choice((*question.split(" "), "(", ")", "'", '"', " ", "\x00", "é")) + " " for _ in range(6)
        )
    return "results: SQL and stores", ["results", question, "--store", store, *some_flags(random, "--json", "--tables")]


def claims_case(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    arguments = some_options(random, {"--paper": lambda: random.choice(("lp", "xx", "", "<b>", "gi"))}, 1)
    if random.random() < 0.2:
        arguments += ["--data-dir", random.choice(("nowhere", "", ".", "spec.toml"))]
    return "claims: stores", [
        "claims",
        *arguments,
        "--store",
        hostile_store(random, folder),
        *some_flags(random, "--json"),
    ]


def reproduce_case(random: Random, folder: Path, canary: Path, kind: str | None = None) -> Case:
    """Only claims that do not exist, or options that are wrong: the crash campaign runs real ones."""
    ids = random.choice((["nothing"], ["lp-twosize"], ["../x"], [""], ["<b>"], [], ["lp-collapse", "nothing"]))
    options = {
        "--scale": lambda: random.choice(("huge", "", "QUICK")), "--jobs": lambda: random.choice(("0", "-1", "x")),
        "--cluster": lambda: random.choice(ADDRESSES),
        "--seeds": lambda: random.choice(("0", "-1", "x", "10001")),
        "--seed-set": lambda: random.choice(("-1", "x", "1e9")), "--device": lambda: random.choice(("tpu", "")),
        "--tls-ca": lambda: "nowhere", "--paper": lambda: random.choice(("xx", "")), "--out": lambda: "spec.toml",
    }  # fmt: skip
    written(folder / "spec.toml", b"")
    wrong = some_options(random, options, 2) or ["--scale", "huge"]
    ids = ids if ids != ["lp-collapse", "nothing"] or "--scale" in wrong else ["nothing"]
    return "reproduce: wrong options", ["reproduce", *ids, *wrong, "--store", hostile_store(random, folder)]


def hostile_store(random: Random, folder: Path) -> str:
    """A folder of results in which files are damaged, foreign, folders, or the store is none."""
    place = folder / "store"
    kind = random.randrange(8)
    if kind == 0:
        return random.choice(("", " ", "nowhere", "/dev/null", "store/x/y", "a" * 300))
    if kind == 1:
        written(place, b"a file")
        return "store"
    for part in ("tasks/lp-collapse", "verdicts", "broken"):
        (place / part).mkdir(parents=True)
    record = {"format": 1, "claim": "lp-collapse", "checksum": "0" * 64, "numbers": {}}
    contents = [b"", b"{}", b"[]", b"null", b"\xff\xfe", b"{" * 9000, json.dumps(record).encode(), b'{"checksum": NaN}']
    for number in range(random.randrange(4)):
        written(place / f"tasks/lp-collapse/{number:040x}.json", random.choice(contents))
    verdict = {
        "id": "lp-collapse",
        "scale": "quick",
        "verdict": "holds",
        "time": "yesterday",
        "found": 3,
        "numbers": None,
    }
    for name in ("lp-collapse.quick.json", "<b>.quick.json", "x.json"):
        if random.random() < 0.4:
            content = json.dumps({key: value for key, value in verdict.items() if random.random() < 0.95}).encode()
            written(place / "verdicts" / name, random.choice((content, content, *contents)))
    if random.random() < 0.2:
        (place / "tasks/lp-collapse/dir.json").mkdir()
    if random.random() < 0.1:
        os.mkfifo(place / "tasks/lp-collapse/pipe.json")
    if random.random() < 0.1:
        (place / "verdicts/loop.json").symlink_to("loop.json")
    return "store"
