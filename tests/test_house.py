"""The house rules: rooms that do not import each other back, files of a sensible size, a map that is true.

The rules read the source of gplens as text and syntax trees; nothing is imported.
"""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gplens"
FILES = sorted(SOURCE.rglob("*.py"))
ROOT_MODULES = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
PACKAGES = {path.parent.name for path in SOURCE.glob("*/__init__.py")}

LONG_FILES: set[str] = set()
"""Files that may be longer than 250 lines, by their path below src/gplens. Each one needs a reason beside it."""


def module_name(path: Path) -> tuple[str, ...]:
    """gplens, kernels, rbf for src/gplens/kernels/rbf.py; a package is named by its folder."""
    parts = ("gplens", *path.relative_to(SOURCE).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def targets(path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """What a file imports and in which line, wherever the statement stands: in functions and for types too.

    After `import gplens` the attributes that the file takes from it are what it imports.
    """
    module = module_name(path)
    package = module if path.name == "__init__.py" else module[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((tuple(name.name.split(".")), node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            yield from (((*base, name.name), node.lineno) for name in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gplens":
            yield ("gplens", node.attr), node.lineno


EXPORTS = {target[-1]: target[1] for target, _ in targets(SOURCE / "__init__.py") if target[0] == "gplens"}
"""The room in which each name of `gplens` itself is made."""


def room(target: tuple[str, ...]) -> str | None:
    """The first-level folder or root module of what is imported, also where it is taken from `gplens` itself."""
    if target[0] != "gplens" or len(target) == 1:
        return None
    return target[1] if target[1] in PACKAGES | ROOT_MODULES else EXPORTS.get(target[1])


def graph() -> dict[str, dict[str, str]]:
    """What each room imports, and one line where it does."""
    edges: dict[str, dict[str, str]] = defaultdict(dict)
    for path in FILES:
        importer = room(module_name(path))
        for target, line in targets(path):
            imported = room(target)
            if importer and imported and importer != imported:
                edges[importer].setdefault(imported, f"{path.relative_to(ROOT)}:{line}")
    return edges


def cycle_through(start: str, edges: dict[str, dict[str, str]]) -> list[str] | None:
    """The shortest way from a room back to itself."""
    ways = [[start]]
    reached: set[str] = set()
    while ways:
        way = ways.pop(0)
        for imported in sorted(edges.get(way[-1], {})):
            if imported == start:
                return [*way, start]
            if imported not in reached:
                reached.add(imported)
                ways.append([*way, imported])
    return None


def described(cycle: list[str], edges: dict[str, dict[str, str]]) -> str:
    steps = (f"{a} -> {b} ({edges[a][b]})" for a, b in pairwise(cycle))
    return ", ".join(steps)


def test_no_room_imports_a_room_that_imports_it_back() -> None:
    """Directly or through others, lazily or for types: first-level folders and root modules form no cycle."""
    edges = graph()
    cycles = {frozenset(cycle): cycle for start in sorted(edges) if (cycle := cycle_through(start, edges))}
    assert not cycles, "\n".join(["import cycles:", *(described(cycle, edges) for cycle in cycles.values())])


def test_the_cycle_test_sees_a_cycle() -> None:
    edges = {"a": {"b": "a.py:1"}, "b": {"c": "b.py:2"}, "c": {"a": "c.py:3"}, "d": {"a": "d.py:4"}}
    assert cycle_through("b", edges) == ["b", "c", "a", "b"]
    assert cycle_through("d", edges) is None
    assert described(["a", "b"], edges) == "a -> b (a.py:1)"


def test_the_root_has_eight_modules_at_most() -> None:
    assert len(ROOT_MODULES) <= 8, f"{len(ROOT_MODULES)} root modules: {sorted(ROOT_MODULES)}"


EXAMPLE = re.compile(r'\n\n *Example:\n.*?\n *(?=""")', re.DOTALL)
"""The example at the end of a docstring, which is for users: files are measured without."""


def lengths() -> dict[str, int]:
    """Lines of every file, by its path below src/gplens."""
    return {str(path.relative_to(SOURCE)): len(EXAMPLE.sub("", path.read_text()).splitlines()) for path in FILES}


def test_examples_are_not_counted() -> None:
    text = 'def f():\n    """One.\n\n    Example:\n        >>> f()\n        1\n    """\n    return 1\n'
    assert len(EXAMPLE.sub("", text).splitlines()) == 3


def test_files_are_long_enough_to_open_and_short_enough_to_read() -> None:
    middle = median(lengths().values())
    assert 70 <= middle <= 130, f"the median file has {middle} lines"


def test_no_file_is_longer_than_250_lines() -> None:
    long = {name: lines for name, lines in lengths().items() if lines > 250}
    assert set(long) == LONG_FILES, f"longer than 250 lines: {long}; allowed: {LONG_FILES}"


def test_no_two_files_share_a_name() -> None:
    """Apart from `__init__.py`, and from files of hosts, adapters/<host>/, which play the same part in each of them."""
    places: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for path in FILES:
        if path.name != "__init__.py":
            places[path.name].append(path.relative_to(SOURCE).parts)
    of_hosts = {
        name for name, paths in places.items() if all(parts[0] == "adapters" and len(parts) == 3 for parts in paths)
    }
    shared = {name: paths for name, paths in places.items() if len(paths) > 1 and name not in of_hosts}
    assert not shared, f"files with the same name: {shared}"


SAME_PART = {"Prior": "k and mu of one latent function, of each host"}
"""Classes of hosts that share a name because they play the same part."""


def public_classes() -> set[tuple[str, tuple[str, ...]]]:
    """Names in `__all__` with the modules that define them."""
    public: set[tuple[str, tuple[str, ...]]] = set()
    for path in FILES:
        named = {target[-1]: target[:-1] for target, _ in targets(path) if target[0] == "gplens"}
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                public |= {(name, named.get(name, module_name(path))) for name in ast.literal_eval(node.value)}
    return public


def test_no_two_classes_share_a_name() -> None:
    """Apart from public ones, which their public module tells apart: gplens.baselines.Mean, gplens.means.Mean."""
    places: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module_name(path))
    public = public_classes()
    shared = {
        name: modules
        for name, modules in places.items()
        if len(modules) > 1 and name not in SAME_PART and any((name, module) not in public for module in modules)
    }
    assert not shared, f"classes with the same name: {shared}"


def map_entries(text: str) -> set[str]:
    """What the map in CONTRIBUTING.md names: the first column of its table, or the first words of a drawn tree."""
    section = re.search(r"^## Where things are$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, 'CONTRIBUTING.md has no section "Where things are"'
    entries: set[str] = set()
    for line in section.group(1).splitlines():
        if line.startswith("|"):
            entries |= set(re.findall(r"`([\w/]+(?:/|\.py))`", line.split("|")[1]))
        elif tree := re.match(r" {4,}((?:[\w/]+(?:/|\.py) *)+)", line):
            entries |= set(tree.group(1).split())
    return entries - {"src/gplens/"}


def test_the_map_names_every_room_and_no_other() -> None:
    entries = map_entries((ROOT / "CONTRIBUTING.md").read_text())
    rooms = {f"{name}/" for name in PACKAGES} | {f"{name}.py" for name in ROOT_MODULES}
    missing = rooms - entries
    invented = {entry for entry in entries if not (SOURCE / entry).exists()}
    assert not missing | invented, f"not on the map: {sorted(missing)}; only on the map: {sorted(invented)}"


def test_the_map_is_read_from_tables_and_trees() -> None:
    heading = "## Where things are\n\n"
    table = "| room | what |\n|---|---|\n| `kernels/`, `means.py` | `rbf.py` |\n\n## Habits\n`x.py`"
    tree = "    src/gplens/\n      explain.py        the verb of text.py\n      lines/  paths/    two\n"
    assert map_entries(heading + table) == {"kernels/", "means.py"}
    assert map_entries(heading + tree) == {"explain.py", "lines/", "paths/"}


def matches(pattern: str) -> list[str]:
    """The lines of src that match, as file:line."""
    places = []
    for path in FILES:
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if re.search(pattern, line, re.IGNORECASE):
                places.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    return places


@pytest.mark.parametrize("pattern", ["wanted was", "wanted were", "was wanted", "were wanted"])
def test_errors_say_what_was_expected(pattern: str) -> None:
    """Messages read "expected ..., got ...; do ..."."""
    assert not (places := matches(pattern)), "\n".join(places)


VAGUE = {"own", "found", "one", "sure", "seen", "known"}
"""Names that say nothing of what they hold."""
KNOWN = "paths/gradient.py"
"""Its `known` are the lengths and kinks of paths, if they are known."""


def test_names_say_what_they_hold() -> None:
    vague: list[str] = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.id if stored and isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
            if name in VAGUE and not (name == "known" and str(path.relative_to(SOURCE)) == KNOWN):
                vague.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', '?')}: {name}")
    assert not vague, "\n".join(vague)


@pytest.mark.parametrize("pattern", [r"object\.__setattr__", r"vars\([^)]*\)\[", r"\._version\b"])
def test_nothing_is_remembered_behind_the_readers_back(pattern: str) -> None:
    """No writing into frozen objects, and no caches that watch the version of a tensor."""
    assert not (places := matches(pattern)), "\n".join(places)


def test_one_explanation_enters_few_modules() -> None:
    """Lower this number when the walk becomes shorter; a reader should not be sent through more rooms again."""
    command = [sys.executable, "scripts/walk.py", "--most", "30"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
