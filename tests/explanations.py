"""Explanations of several shapes, for the tests of what is done with them."""

from functools import cache

from torch import Tensor

import gplens
from conformance.zoo import KERNELS, fitted, rows
from gplens import Explanation, Stack
from gplens.baselines import Rows, Sample
from gplens.links import Exp
from gplens.rules import GaussLegendre, RiemannRight

NAMES = ("hour_sin", "hour_cos", "temp", "wind")


@cache
def single() -> Explanation:
    """Five inputs, one output, a baseline for each."""
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 71), rows(71, 5)
    return gplens.explain(posterior, X, baseline=Rows(X0), likelihood=Exp(), feature_names=NAMES)


@cache
def several() -> Explanation:
    """Two outputs."""
    (rbf, _), (matern, _), (X, _) = fitted(KERNELS["rbf"], 72), fitted(KERNELS["matern52"], 73), rows(72, 3)
    return gplens.explain(Stack((rbf, matern)), X, baseline=0.1, likelihood=Exp())


@cache
def background() -> Explanation:
    """An average over three baselines."""
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 74), rows(74, 4)
    return gplens.explain(posterior, X, baseline=Sample(X0[:3]), likelihood=Exp())


@cache
def fixed() -> Explanation:
    """A rule without an error estimate."""
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 75), rows(75, 3)
    return gplens.explain(posterior, X, baseline=Rows(X0), likelihood=Exp(), rule=GaussLegendre(8))


@cache
def at_its_baseline() -> Explanation:
    """x = x0: inputs and baseline are equal tensors."""
    (posterior, _), (X, _) = fitted(KERNELS["rbf"], 76), rows(76, 2)
    return gplens.explain(posterior, X, baseline=Rows(X), likelihood=Exp(), rule=RiemannRight(3))


def all_tensors(explanation: Explanation) -> dict[str, Tensor]:
    """The tensors of an explanation and of its spread, by name."""
    of_spread = {} if explanation.spread is None else explanation.spread.tensors()
    return explanation.tensors() | {f"spread.{name}": tensor for name, tensor in of_spread.items()}


EVERY_EXPLANATION = [single, several, background, fixed, at_its_baseline]
