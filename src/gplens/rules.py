"""Quadrature rules for `explain(rule=...)`."""

from gplens.paths.adaptive import Adaptive
from gplens.paths.rules import (
    FixedRule,
    GaussKronrod,
    GaussLegendre,
    RiemannLeft,
    RiemannMiddle,
    RiemannRight,
    Rule,
    Trapezoid,
)

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
