"""The versions that gplens declares: one bound for each package, all imports declared, the adapters of the same mind.

`make test-lowest` installs constraints-lowest.txt, which holds the lower bounds of pyproject.toml.
"""

import ast
import sys
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gplens.adapters import hosts

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
ONE_BUILD = {"torch"}
"""Packages of which one build is tested, which is not the lowest that pyproject.toml allows."""
FRAMEWORKS = {"baybe", "ax-platform", "bofire", "plotly"}
"""Packages that need newer versions of BoTorch and pandas than the lowest ones: `make test-lowest` is without them."""


def declared(lines: list[str]) -> dict[str, set[SpecifierSet]]:
    """The bounds of each package among some requirements; a requirement without one adds none."""
    bounds: dict[str, set[SpecifierSet]] = defaultdict(set)
    for requirement in map(Requirement, lines):
        bounds[canonicalize_name(requirement.name)] |= {requirement.specifier} if requirement.specifier else set()
    bounds.pop("gplens", None)  # an extra that includes another one
    return bounds


EVERY_BOUND = declared([*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)])


def lower(bounds: SpecifierSet) -> Version:
    (version,) = (Version(bound.version) for bound in bounds if bound.operator == ">=")
    return version


def imported_packages() -> dict[str, str]:
    """The packages that src/gplens imports, wherever the statement stands, each with one file that does."""
    files: dict[str, str] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                modules = [node.module]
            for module in modules:
                files.setdefault(module.partition(".")[0], str(path.relative_to(ROOT)))
    return {name: file for name, file in files.items() if name not in {*sys.stdlib_module_names, "gplens"}}


@pytest.mark.parametrize("package", sorted(EVERY_BOUND))
def test_each_package_has_one_bound(package: str) -> None:
    assert len(EVERY_BOUND[package]) == 1, f"{package}: {sorted(map(str, EVERY_BOUND[package]))}"


def test_the_lowest_versions_are_the_lower_bounds() -> None:
    lines = (line.partition("#")[0].strip() for line in (ROOT / "constraints-lowest.txt").read_text().splitlines())
    pins = declared([line for line in lines if line])
    for package, (bounds,) in EVERY_BOUND.items():
        if package in FRAMEWORKS:
            assert package not in pins
            continue
        ((pin,),) = pins[package]
        if package in ONE_BUILD:
            assert Version(pin.version) in bounds
        else:
            assert Version(pin.version) == lower(bounds), package


@pytest.mark.parametrize("package", sorted(FRAMEWORKS))
def test_a_framework_is_tested_in_one_version_of_its_range(package: str) -> None:
    lines = (line.partition("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    ((pin,),) = declared([line for line in lines if line])[package]
    (bounds,) = EVERY_BOUND[package]
    assert Version(pin.version) in bounds


def test_every_import_is_declared_for_users() -> None:
    users = declared(PROJECT["dependencies"] + [line for name in EXTRAS if name != "dev" for line in EXTRAS[name]])
    distributions = {"ax": ["ax-platform"], **packages_distributions()}  # where Ax is not installed, nothing says so
    missing = {
        name: file
        for name, file in imported_packages().items()
        if not users.keys() & {canonicalize_name(package) for package in distributions.get(name, [name])}
    }
    assert not missing, f"declare these in the dependencies of pyproject.toml or in an extra: {missing}"


@pytest.mark.parametrize("root", sorted(hosts.HOSTS.keys() - {"gplens"}))
def test_adapters_know_the_versions_that_can_be_installed(root: str) -> None:
    requirement = Requirement(hosts.HOSTS[root].requirement)
    declared_bounds = EVERY_BOUND[canonicalize_name(requirement.name)]
    assert declared_bounds == {requirement.specifier}, (
        f"HOSTS has {requirement}, pyproject.toml has {sorted(map(str, declared_bounds)) or 'no extra with it'}"
    )


@pytest.mark.parametrize(
    ("installed", "tested"),
    [("1.15", False), ("1.15.0", False), ("1.15.1", True), ("1.15.12.dev3", True), ("1.16", False), ("1.9.9", False)],
)
def test_a_version_is_compared_number_by_number(installed: str, tested: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "version", lambda package: installed)
    cause = AttributeError("a private attribute")
    host = hosts.Library("an.adapter", "a-library", (1, 15, 1), (1, 16))
    assert (host.explained(cause) is cause) == tested
