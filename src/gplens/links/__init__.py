"""Links: one per file, each with the Gaussian moments of its g (MATH 2)."""

from gplens.links.affine import Affine
from gplens.links.exp import Exp
from gplens.links.identity import Identity
from gplens.links.laplace_tail import LaplaceTail
from gplens.links.link import Link, Moments, PairMoments
from gplens.links.one_vs_rest import OneVsRest
from gplens.links.probit import Probit
from gplens.links.probit_mixture import ProbitMixture
from gplens.links.quadrature import Quadrature, QuadratureError
from gplens.links.sigmoid import Sigmoid
from gplens.links.sigmoid_taylor import SigmoidTaylor
from gplens.links.softmax import MixedSoftmax, Softmax, SoftmaxMonteCarlo, SoftmaxTaylor
from gplens.links.softplus import Softplus
from gplens.links.square import Square

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
