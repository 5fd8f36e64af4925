"""Classes say what they are made from and what they refuse; methods that users call have an example that runs."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from test_examples_of_docstrings import NAMES, names, run_example

__all__ = ["names"]  # the fixture
CLASSES = {name: value for name, value in NAMES.items() if inspect.isclass(value)}
NEIGHBOURS = {"baseline", "rule", "feature_names", "output_names", "learn_inducing", "E11"}
"""Fields of several, whose meaning stands at the one before or after them."""
CALLED = ("gplens.Explanation", "gplens.Importance", "gplens.explanation.RankProbabilities", "gplens.datasets.Dataset")
CALLED += ("gplens.estimators.GPRegressor", "gplens.shap.Explainer")
"""Classes whose methods users call; the other estimators have the methods of GPRegressor."""
INTERNAL = {"summed", "tensors", "of"}
CONSTRUCTORS = ("gplens.Posterior.exact", "gplens.Posterior.from_arrays")


def own_classes(kind: type) -> list[type]:
    """The class and its bases in gplens."""
    return [base for base in kind.__mro__ if base.__module__.startswith("gplens")]


def body_of(kind: type) -> list[ast.stmt]:
    """The statements of a class."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(definition, ast.ClassDef)
    return definition.body


def documented_fields(kind: type) -> Iterator[str]:
    """Fields that a text follows."""
    for body in map(body_of, own_classes(kind)):
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                yield ast.unparse(field.target)


def unnamed(parameters: Any, text: str) -> set[str]:
    """Parameters that the text does not name."""
    return {name for name in parameters if name not in ("self", "cls") and not re.search(rf"\b{name}\b", text)}


def refuses(kind: type) -> bool:
    """Whether making an object may raise an error of gplens."""
    for body in map(body_of, own_classes(kind)):
        for part in body:
            if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__post_init__"):
                return re.search(r"\braise\b|check_", ast.unparse(part)) is not None
    return False


def methods() -> dict[str, Any]:
    """The public methods of these classes that are defined in gplens, by their names."""
    found: dict[str, Any] = {}
    for name in CALLED:
        kind = NAMES[name]
        for base in own_classes(kind):
            for method, value in vars(base).items():
                called = value.__func__ if isinstance(value, staticmethod | classmethod) else value
                if inspect.isfunction(called) and not method.startswith("_") and method not in INTERNAL:
                    found.setdefault(f"{name}.{method}", called)
    return found | {name: getattr(NAMES["gplens.Posterior"], name.rpartition(".")[2]) for name in CONSTRUCTORS}


METHODS = methods()


@pytest.mark.parametrize("name", [name for name, kind in CLASSES.items() if not issubclass(kind, Exception)])
def test_classes_say_what_they_are_made_from(name: str) -> None:
    kind = CLASSES[name]
    text = " ".join(inspect.getdoc(base) or "" for base in own_classes(kind))
    known = {*documented_fields(kind), *NEIGHBOURS}
    assert unnamed(set(inspect.signature(kind).parameters) - known - {"args", "kwargs"}, text) == set()


@pytest.mark.parametrize("name", [name for name, kind in CLASSES.items() if refuses(kind)])
def test_classes_say_what_they_refuse(name: str) -> None:
    texts = [inspect.getdoc(base) or "" for base in own_classes(CLASSES[name])]
    assert re.search("Raises:|[Rr]efuse|A ValueError", " ".join(texts))


@pytest.mark.parametrize("name", METHODS)
def test_methods_say_what_they_take(name: str) -> None:
    assert unnamed(inspect.signature(METHODS[name]).parameters, inspect.getdoc(METHODS[name]) or "") == set()


@pytest.mark.parametrize("name", METHODS)
def test_the_example_of_a_method_runs(name: str, names: Callable[[str], dict[str, Any]]) -> None:
    run_example(name, inspect.getdoc(METHODS[name]) or "", names(re.sub(r"\.[A-Z]\w+\.\w+$", "", name)))
