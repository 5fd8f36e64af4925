"""Every public name has a docstring with an example that runs; functions say what they take, return and refuse."""

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

from example_session import session

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    f"gplens.{path.stem}" if path.stem != "gplens" else "gplens" for path in (ROOT / "docs" / "api").glob("*.md")
)
MODULES.remove("gplens.index")


def public_names() -> dict[str, Any]:
    """The functions and classes of the modules that have a page of their own, by the first place that has them."""
    found: dict[str, Any] = {}
    for module in sorted(MODULES, key=lambda name: name.count(".")):
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            callable_ = inspect.isclass(value) or inspect.isfunction(value)
            if callable_ and not any(value is old for old in found.values()):
                found[f"{module}.{name}"] = value
    return found


NAMES = public_names()
every_name = pytest.mark.parametrize("name", NAMES)
every_function = pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(NAMES[name])])


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the examples begin with; it is not changed by them."""
    return session()


@every_name
@pytest.mark.filterwarnings("ignore:The model is mostly its prior:UserWarning")
@pytest.mark.filterwarnings("ignore:The set_(bad|over|under|extremes) function:PendingDeprecationWarning")  # shap
def test_the_example_runs_and_prints_what_it_shows(name: str, names: dict[str, Any]) -> None:
    text = inspect.getdoc(NAMES[name]) or ""
    test = doctest.DocTestParser().get_doctest(text, dict(names), name, None, 0)
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
    """A module that gplens names as public, or that has `__all__` and is imported by users, is in docs/api."""
    import gplens

    modules = {f"gplens.{name}" for name in gplens.__all__ if inspect.ismodule(getattr(gplens, name))}
    assert modules <= set(MODULES), sorted(modules - set(MODULES))
