"""Programs beside the package: the modules that they import are there, also those that one of their commands needs."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = [path for name in ("scripts", "benchmarks", "examples") for path in sorted((ROOT / name).glob("*.py"))]
OURS = [ROOT, ROOT / "src", ROOT / "tests", ROOT / "benchmarks", ROOT / "scripts", ROOT / "examples"]
OPTIONAL = {"baybe", "ax", "bofire", "ray", "pyspark", "gpflow", "gpjax", "jax", "playwright"}
"""Packages of extras, which may not be installed."""


def imported(path: Path) -> set[str]:
    """The modules that a program imports anywhere in it."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module)
    return modules


def exists(module: str) -> bool:
    """As a file of the project, or as an installed package, which is not imported for it."""
    top, part = module.partition(".")[0], module.replace(".", "/")
    places = [folder for folder in OURS if (folder / top).is_dir() or (folder / f"{top}.py").is_file()]
    if places:
        return any((folder / part).is_dir() or (folder / f"{part}.py").is_file() for folder in places)
    return top in OPTIONAL or find_spec(top) is not None


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_imports_of_programs_exist(path: Path) -> None:
    assert not [module for module in sorted(imported(path)) if not exists(module)]
