"""Quadrature rules for `explain(rule=...)`."""

from gplens.paths.adaptive import Adaptive
from gplens.paths.riemann import RiemannLeft, RiemannMiddle, Trapezoid
from gplens.paths.rules import FixedRule, GaussKronrod, GaussLegendre, RiemannRight, Rule

__all__ = [
    "Adaptive",
    "FixedRule",
    "GaussKronrod",
    "GaussLegendre",
    "RiemannLeft",
    "RiemannMiddle",
    "RiemannRight",
    "Rule",
    "Trapezoid",
]
