"""README, CONTRIBUTING and docs: the files, commands and names that they mention exist."""

import importlib
import importlib.util
import re
import warnings
from pathlib import Path

import pytest

import gplens
import gplens.estimators
from gplens.experiments.run import EXPERIMENTS

ROOT = Path(__file__).parents[1]
BUILT = {"_build", "auto_examples", "_pictures"}
SITE = [path for path in sorted((ROOT / "docs").rglob("*.md")) if not BUILT & set(path.parts)]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
FOLDERS = ("tests", "scripts", "benchmarks", "examples", "src", "docs")
OF_THE_EXAMPLES = ("normalised_dot", "NormalisedDot", "tinyhost", "cube", "Cube")
"""Names of the kernel, link and host that CONTRIBUTING adds as examples."""
WRITTEN = ("docs/_build", "auto_examples")
"""What `make docs` writes."""


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


@every_page
def test_files_that_are_named_exist(page: Path) -> None:
    for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", prose(page)):
        if not any(name in path for name in (*OF_THE_EXAMPLES, *WRITTEN)):
            assert (ROOT / path).exists(), path
    for name in re.findall(r"`(test_\w+\.py)`", prose(page)):
        assert list((ROOT / "tests").rglob(name)), name


@every_page
def test_commands_that_are_named_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for target in re.findall(r"`make ([\w-]+)`|^    make ([\w-]+)", page.read_text(), flags=re.MULTILINE):
        assert "".join(target) in targets, target
    for line in re.findall(r"gplens reproduce ((?:\w+)(?: \| \w+)*)", page.read_text()):
        assert set(line.split(" | ")) <= {*EXPERIMENTS, "all"}, line


ROOMS = ("kernels", "links", "means", "rules", "targets", "baselines", "datasets", "estimators")


FRAMEWORKS = ("baybe", "ax", "bofire")
"""Rooms for which a package has to be installed, which `make test-lowest` is without."""


def resolves(dotted: str) -> bool:
    """Whether gplens.a.b exists, as an attribute or as a module; of rooms that cannot be imported, whether they do."""
    value: object = gplens
    room = dotted.split(".")[0]
    if room in FRAMEWORKS:
        if importlib.util.find_spec(room) is None:
            return True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # frameworks warn when they are imported
            importlib.import_module(f"gplens.{room}")
    for i, name in enumerate(dotted.split(".")):
        if hasattr(value, name):
            value = getattr(value, name)
            continue
        try:
            value = importlib.import_module("gplens." + ".".join(dotted.split(".")[: i + 1]))
        except ImportError:
            return False
    return True


@every_page
def test_names_of_gplens_that_are_named_exist(page: Path) -> None:
    """`gplens.x.y(...)`, `links.X`, `targets.X(...)` and so on, in prose and in code."""
    text = page.read_text()
    named = set(re.findall(r"\bgplens\.((?:[a-z_]+\.)*\w+)", text))
    named |= {f"{room}.{name}" for room, name in re.findall(rf"`({'|'.join(ROOMS)})\.(\w+)", text)}
    named = {name for name in named if not any(example in name for example in OF_THE_EXAMPLES)}
    named = {name for name in named if name.rpartition(".")[2] not in ("py", "md")}  # files
    missing = sorted(name for name in named if not resolves(name))
    assert missing == []


def test_every_misprint_has_a_test() -> None:
    """The list of PAPER.md is numbered from 1 to 24, and `tests/paper` names each of its labels or sections."""
    page = (ROOT / "docs" / "PAPER.md").read_text()
    entries = re.findall(r"^(\d+)\. \*\*", page[page.index("## Misprints in the paper") :], flags=re.MULTILINE)
    assert [int(entry) for entry in entries] == list(range(1, 25))
    tests = "\n".join(path.read_text() for path in (ROOT / "tests" / "paper").glob("test_*.py"))
    assert len(re.findall(r"^def test_", tests, flags=re.MULTILINE)) >= 24


def test_the_last_table_of_the_mathematics_has_every_equation() -> None:
    page = (ROOT / "docs" / "MATH.md").read_text()
    body, table = page.split("## Where each equation is tested")
    covered: set[str] = set()
    for cell in re.findall(r"^\| (\d[^|]*) \|", table, flags=re.MULTILINE):
        for part in cell.split(", "):
            first, _, last = part.partition(" to ")
            section, low = first.split(".")
            high = (last or first).split(".")[1]
            numbers = range(int(re.sub(r"\D", "", low)), int(re.sub(r"\D", "", high)) + 1)
            covered |= {f"{section}.{number}" for number in numbers}
    tags = {re.sub(r"[a-z]+$", "", tag) for tag in re.findall(r"\\tag\{([\d.]+[a-z]?)\}", body)}
    assert len(tags) > 60
    assert tags <= covered, f"add these to the last table of docs/MATH.md: {sorted(tags - covered)}"


SETTINGS = (
    r"(?m)^[^\"\n]*"  # not inside a message
    r"(mallopt|set_num_threads|set_default_dtype|manual_seed_all|torch\.manual_seed|use_deterministic_algorithms)"
)


def test_no_setting_of_the_process_is_changed() -> None:
    """As SPEED.md says; programs of the paper's experiments may seed torch, and workers of Ray have threads."""
    programs = {"experiments", "worker_threads.py"}
    sources = [path for path in (ROOT / "src").rglob("*.py") if not programs & set(path.parts)]
    assert re.search(SETTINGS, "import torch\n    torch.set_num_threads(1)")
    assert not [path.name for path in sources if re.search(SETTINGS, path.read_text())]
