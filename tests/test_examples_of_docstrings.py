"""Every public name has a docstring with an example that runs; functions say what they take, return and refuse."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from example_session import session

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    f"gplens.{path.stem}" if path.stem != "gplens" else "gplens" for path in (ROOT / "docs" / "api").glob("*.md")
)
MODULES.remove("gplens.index")
FRAMEWORKS = ("baybe", "ax", "bofire")
"""Rooms for which a package has to be installed, which `make test-lowest` is without."""
LONG = (*(f"gplens.{room}." for room in FRAMEWORKS), "gplens.scale.fit_dataset")
"""Examples that load a framework or start a cluster: slow tests."""
SAME_AS = {"gplens.explain": "gplens", "gplens.likelihood": "gplens"}
"""Rooms whose public names are those of another."""


def imported(module: str) -> Any:
    """The module; frameworks warn when they are imported."""
    with warnings.catch_warnings():
        if module.rpartition(".")[2] in FRAMEWORKS:
            warnings.simplefilter("ignore")
        return importlib.import_module(module)


def public_names() -> dict[str, Any]:
    """The functions and classes of the modules that have a page of their own, by the first place that has them."""
    found: dict[str, Any] = {}
    for module in sorted(MODULES, key=lambda name: name.count(".")):
        room = module.rpartition(".")[2]
        if room in FRAMEWORKS and importlib.util.find_spec(room) is None:
            continue
        for name in imported(module).__all__:
            value = getattr(imported(module), name)
            callable_ = inspect.isclass(value) or inspect.isfunction(value)
            if callable_ and not any(value is old for old in found.values()):
                found[f"{module}.{name}"] = value
    return found


NAMES = public_names()
NO_CLUSTER = "GPLENS_RAY_TESTS" not in os.environ and "gplens.scale.fit_dataset"
"""The example that starts a Ray cluster in this process; tests/scale run Ray in processes of their own."""


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    """Slow, or skipped."""
    without = pytest.mark.skipif(name == NO_CLUSTER, reason="a cluster is started only if GPLENS_RAY_TESTS is set")
    return [pytest.mark.slow, without] if name.startswith(LONG) else []


every_name = pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in NAMES])
every_function = pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(NAMES[name])])


@pytest.fixture(scope="module")
def names() -> Callable[[str], dict[str, Any]]:
    """What the examples of a module begin with; it is not changed by them."""
    return cache(session)


@every_name
@pytest.mark.filterwarnings("ignore:The model is mostly its prior:UserWarning")
@pytest.mark.filterwarnings("ignore:The set_(bad|over|under|extremes) function:PendingDeprecationWarning")  # shap
def test_the_example_runs_and_prints_what_it_shows(name: str, names: Callable[[str], dict[str, Any]]) -> None:
    if name.startswith(LONG):
        warnings.simplefilter("ignore")
    run_example(name, inspect.getdoc(NAMES[name]) or "", names(name.rpartition(".")[0]))


def run_example(name: str, text: str, begin: dict[str, Any]) -> None:
    """The example of a docstring, which begins with these names."""
    test = doctest.DocTestParser().get_doctest(text, dict(begin), name, None, 0)
    assert test.examples, f'{name} has no example; add one below "Example:"'
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=printed.append)
    assert not printed, "".join(printed)


@every_function
def test_functions_say_what_they_take_return_and_refuse(name: str) -> None:
    text = inspect.getdoc(NAMES[name]) or ""
    assert "Args:" in text or not inspect.signature(NAMES[name]).parameters
    assert "Returns:" in text
    assert "Raises:" in text


def test_there_is_a_page_for_every_public_module() -> None:
    """Every room of gplens that has `__all__` is in docs/api, and in its table."""
    rooms = set()
    for path in (*(ROOT / "src/gplens").glob("*.py"), *(ROOT / "src/gplens").glob("*/__init__.py")):
        if any(
            isinstance(line, ast.Assign) and "__all__" in ast.unparse(line) for line in ast.parse(path.read_text()).body
        ):
            rooms.add("gplens" if path.parent.name == "gplens" and path.stem == "__init__" else name_of(path))
    assert {SAME_AS.get(room, room) for room in rooms} == set(MODULES)
    index = (ROOT / "docs/api/index.md").read_text()
    assert all(f"[`{module}`]" in index for module in MODULES)


def name_of(path: Path) -> str:
    return f"gplens.{path.parent.name if path.stem == '__init__' else path.stem}"
