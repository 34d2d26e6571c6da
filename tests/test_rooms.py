"""The rooms as the code shows them: nothing gets round the import contract, one implementation decides for a remedy,
names are not used twice, modules stay one idea long."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/lopsided"
MOST_LINES = 400
# Where a module is loaded by a string: each says which names it may load.
LOADERS = {
    "__init__.py": "the package's public names",
    "torch/__init__.py": "lopsided.torch",
    "remedies/__init__.py": "lopsided.remedies",
    "remedies/contract.py": "entry points that register forms of remedies",
    "checkup/checks/__init__.py": "lopsided.checkup.checks",
    "skill/__init__.py": "lopsided.skill",
    "skill/benchmark.py": "lopsided.skill",
    "papers/register.py": "lopsided.papers",
    "learners/named_learner.py": "a user's own class",
    "web/jobs/worker.py": "lopsided.web",
}


@cache
def trees() -> dict[str, ast.Module]:
    return {
        str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


@cache
def heights() -> dict[str, int]:
    """Room -> its layer in the import contract, the lowest 0."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [re.findall(r"lopsided\.(\w+)", layer) for layer in contract["layers"]]
    return {room: height for height, layer in enumerate(reversed(layers)) for room in layer}


def room_of(place: str) -> str:
    return place.partition("/")[0]


# --- no import by a string gets round the contract


def loads(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls that import: import_module(...), importlib.import_module(...), __import__(...), entry points, and import
    statements in text that is executed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            executed = isinstance(node.func, ast.Name) and name in ("exec", "eval")  # a network has an eval() too
            if executed or name in ("import_module", "__import__", "run_module", "resolve_name", "entry_points"):
                yield node


def strings(tree: ast.AST) -> Iterator[str]:
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value


def loaded_upwards(place: str, tree: ast.Module) -> list[str]:
    """What a module loads, or may load, by a string against the contract."""
    if not any(loads(tree)):
        return []
    if place not in LOADERS:
        return ["imports by a string"]
    if place == "__init__.py":  # the lazy public names: every room is theirs
        return []
    own = heights()[room_of(place)]
    rooms = {found for text in strings(tree) for found in re.findall(r"\blopsided\.(\w+)", text)}
    return sorted(f"names {room} in a string" for room in rooms & heights().keys() if heights()[room] > own)


@pytest.mark.parametrize("place", list(trees()))
def test_no_module_is_imported_by_a_string_to_get_round_the_contract(place: str) -> None:
    assert loaded_upwards(place, trees()[place]) == []


def test_that_check_can_fail() -> None:
    plain = "from importlib import import_module\n\ndef f():\n    return import_module('lopsided.checkup.audit')\n"
    assert loaded_upwards("engine/work.py", ast.parse(plain))
    assert loaded_upwards("engine/work.py", ast.parse("__import__('lopsided.' + 'web')"))
    assert loaded_upwards("remedies/__init__.py", ast.parse(plain)) == ["names checkup in a string"]
    own = "import importlib\n_PACKAGE = 'lopsided.papers'\nimportlib.import_module(_PACKAGE)\n"
    assert loaded_upwards("papers/register.py", ast.parse(own)) == []


def test_the_loaders_are_there_and_load() -> None:
    """An entry of the list above that no longer loads anything goes."""
    assert [place for place in LOADERS if place not in trees() or not any(loads(trees()[place]))] == []


def test_only_forms_of_remedies_are_registered_from_above() -> None:
    """`remedies` does not know PyTorch: whoever does registers its forms, and no other entry point gets round rooms."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert points == {"lopsided.remedy_forms": {"torch": "lopsided.torch.remedies.forms"}}


def test_imports_are_absolute() -> None:
    """A result's key follows the imports of its code by their names (`engine.code`)."""
    relative = [
        f"{place}:{node.lineno}"
        for place, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_no_room_but_papers_imports_a_claim() -> None:
    """Runs and summaries that the laboratory or a command needs, too, are no part of a claim's file."""
    claims = {
        f"lopsided.{place[:-3].replace('/', '.')}"
        for place, tree in trees().items()
        if room_of(place) == "papers"
        and any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CLAIM" for node in tree.body)
    }
    imported = {
        f"{place}: {node.module}"
        for place, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in claims and room_of(place) != "papers"
    }
    assert len(claims) > 50
    assert imported == set()


def test_commands_and_pages_name_no_folder_of_a_paper() -> None:
    """The import contract forbids the imports; a recipe that a page prints is text, and leads to `worlds`, too."""
    folders = re.compile(r"\bpapers\.(bo|gi|lp|sd)\b")
    named = [
        f"{place}: {text}"
        for place, tree in trees().items()
        if room_of(place) in ("cli", "web")
        for text in strings(tree)
        if folders.search(text)
    ]
    assert named == []


# --- a remedy decides for itself


def compared_kinds(tree: ast.Module) -> list[str]:
    """Comparisons of an attribute `.kind` with text: `x.kind == "y"`, `x.kind in ("y", "z")`, `match x.kind`, and
    a table looked up by it, `{"y": ...}[x.kind]`; and one of the parameters, `x.parameters["y"]`, `.get("y")`."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_kind(side) for side in sides) and any(_has_text(side) for side in sides):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Match) and _is_kind(node.subject):
            found.append(f"match {ast.unparse(node.subject)}")
        elif (
            isinstance(node, ast.Subscript)
            and (
                (isinstance(node.value, ast.Dict) and _is_kind(node.slice))
                or (getattr(node.value, "attr", None) == "parameters" and _has_text(node.slice))
            )
        ) or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".parameters.get")):
            found.append(ast.unparse(node))
    return found


def _is_kind(node: ast.expr) -> bool:
    """`.kind`, but not that of a NumPy type."""
    return isinstance(node, ast.Attribute) and node.attr == "kind" and not ast.unparse(node.value).endswith("dtype")


def _has_text(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(_has_text(entry) for entry in node.elts)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize("place", [place for place in trees() if room_of(place) != "remedies"])
def test_no_kind_of_a_remedy_is_compared_outside_remedies(place: str) -> None:
    assert compared_kinds(trees()[place]) == []


def test_that_a_compared_kind_is_found() -> None:
    for text in (
        'remedy.kind == "weights"',
        '"weights" != arm.remedy.kind',
        'one.kind in ("weights", "oversampling")',
        'match remedy.kind:\n    case "weights":\n        pass',
        '{"weights": 1}[remedy.kind]',
        'remedy.parameters["rates"]',
        'arm.remedy.parameters.get("rates")',
    ):
        assert len(compared_kinds(ast.parse(text))) == 1
    for text in (
        'settings["kind"] == "x"',
        'kind == "x"',
        'a.dtype.kind in "iu"',
        'dtype.kind in "iu"',
        "one.kind == other.kind",
        "by_kind[one.kind]",
    ):
        assert compared_kinds(ast.parse(text)) == []


@cache
def remedy_classes() -> frozenset[str]:
    """The subclasses of `Remedy` in its room."""
    nodes = [node for place in trees() if room_of(place) == "remedies" for node in trees()[place].body]
    bases = {node.name: {ast.unparse(base) for base in node.bases} for node in nodes if isinstance(node, ast.ClassDef)}
    found, before = {"Remedy"}, set[str]()
    while found != before:
        before, found = found, found | {name for name, above in bases.items() if above & found}
    return frozenset(found - {"Remedy"})  # whether something is a remedy at all may be asked


def asked_for_a_remedy(tree: ast.Module) -> list[str]:
    """`isinstance`, `issubclass`, comparisons and patterns that name a class of remedies."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            inside = node.args if ast.unparse(node.func) in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.Compare):
            inside = [node.left, *node.comparators] if "type(" in ast.unparse(node) else []
        else:
            inside = [node.cls] if isinstance(node, ast.MatchClass) else []
        names = {one.id for part in inside for one in ast.walk(part) if isinstance(one, ast.Name)}
        if names & remedy_classes():
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("place", [place for place in trees() if room_of(place) != "remedies"])
def test_no_class_of_a_remedy_is_asked_for_outside_remedies(place: str) -> None:
    assert asked_for_a_remedy(trees()[place]) == []


def test_that_a_class_that_is_asked_for_is_found() -> None:
    assert {"Plain", "Own", "Collection", "HalfWayOversampling", "Ldam", "NetworkRemedy"} <= remedy_classes()
    for text in (
        "isinstance(one, Plain)",
        "isinstance(one, (str, Own))",
        "type(one) is Plain",
        "issubclass(kind, Own)",
    ):
        assert asked_for_a_remedy(ast.parse(text)) == [text]
    assert len(asked_for_a_remedy(ast.parse("match one:\n    case Plain():\n        pass"))) == 1
    assert asked_for_a_remedy(ast.parse("Plain()\nisinstance(one, Remedy)\nPlain.name == name")) == []


# --- one name, one idea


def public_types(tree: ast.Module) -> dict[str, str | None]:
    """Name -> None for a class, the meaning for an alias of a type: `Name = Literal["a", "b"]`; names with a leading
    underscore apart."""
    found: dict[str, str | None] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = None
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Subscript, ast.BinOp, ast.Name)):
            for target in node.targets:
                name = ast.unparse(target)
                if name[0].isupper() and not name.isupper():
                    found[name] = ast.unparse(node.value)
    return {name: meaning for name, meaning in found.items() if not name.startswith("_")}


def two_meanings(modules: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Name -> its modules, where two classes have it, a class and an alias, or two aliases of different types. The
    aliases of papers do not count: a frozen rule names them."""
    found: dict[str, dict[str, str | None]] = defaultdict(dict)
    for place, tree in modules.items():
        for name, meaning in public_types(tree).items():
            if meaning is None or room_of(place) != "papers":
                found[name][place] = meaning or place
    return {name: list(places) for name, places in found.items() if len(set(places.values())) > 1}


def test_no_two_types_have_one_name() -> None:
    assert two_meanings(trees()) == {}


def test_that_two_types_of_one_name_are_found() -> None:
    made, one, other = (ast.parse(text) for text in ("class Tag: ...", "Tag = int | str", "Tag = Literal[1]"))
    for first, second in ((made, made), (made, one), (one, other)):
        assert two_meanings({"x": first, "y": second}) == {"Tag": ["x", "y"]}
    assert two_meanings({"x": one, "y": one, "papers/z": other}) == {}
    assert public_types(ast.parse("Tag = TypeVar('Tag')\n_Tag = list[int]\nTAG = x\nKind = list[int]")) == {
        "Kind": "list[int]"
    }


@pytest.mark.parametrize("place", list(trees()))
def test_a_module_is_one_idea_long(place: str) -> None:
    lines = len((SOURCE / place).read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES, f"{lines} lines: ask whether it is two ideas"


def test_tests_and_benchmarks_are_no_longer() -> None:
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("tests", "bench")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {place: lines for place, lines in sizes.items() if lines > MOST_LINES} == {}


def test_papers_have_names_and_not_private_codes() -> None:
    """`seed 002` or `000 Section V`, as nobody outside can look up; a random seed has no leading zeros."""
    code = re.compile(r"(?<![\w.,#+-])(?<!\d )00[0-4](?![\w.,]*\d)\b")
    texts = [
        path
        for folder in (SOURCE, ROOT / "docs")
        for path in folder.rglob("*")
        if path.suffix in (".py", ".md", ".js", ".csv")
    ]
    texts += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts
        if "_cache" not in path.parts
        for match in code.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
