"""Links: one per file, each with the Gaussian moments of its g (MATH 2)."""

from gplens.expectations.link import Link, Moments, PairMoments
from gplens.expectations.one_vs_rest import OneVsRest
from gplens.expectations.softmax import MixedSoftmax, Softmax, SoftmaxMonteCarlo, SoftmaxTaylor
from gplens.links.affine import Affine
from gplens.links.closed_form import Exp, Identity, Square
from gplens.links.laplace_tail import LaplaceTail
from gplens.links.probit import Probit, ProbitMixture
from gplens.links.quadrature import Quadrature, QuadratureError
from gplens.links.sigmoid import Sigmoid, SigmoidTaylor
from gplens.links.softplus import Softplus

__all__ = [
    "Affine",
    "Exp",
    "Identity",
    "LaplaceTail",
    "Link",
    "MixedSoftmax",
    "Moments",
    "OneVsRest",
    "PairMoments",
    "Probit",
    "ProbitMixture",
    "Quadrature",
    "QuadratureError",
    "Sigmoid",
    "SigmoidTaylor",
    "Softmax",
    "SoftmaxMonteCarlo",
    "SoftmaxTaylor",
    "Softplus",
    "Square",
]
