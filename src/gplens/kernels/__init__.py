"""Kernels: one per file, each with its values along a line and its pull-back (MATH 4)."""

from gplens.kernels.active_dimensions import ActiveDimensions
from gplens.kernels.autograd import Autograd, Warped
from gplens.kernels.bilinear import Bilinear
from gplens.kernels.composite import Product, Sum
from gplens.kernels.constant import Constant, Discrete
from gplens.kernels.dot_product import Linear, Polynomial
from gplens.kernels.kernel import Kernel, Scale
from gplens.kernels.matern import Matern, Matern32, Matern52
from gplens.kernels.periodic import Cosine, Periodic, RadialPeriodic
from gplens.kernels.piecewise import PiecewisePolynomial
from gplens.kernels.power import Power
from gplens.kernels.rbf import RBF, RationalQuadratic

__all__ = [
    "RBF",
    "ActiveDimensions",
    "Autograd",
    "Bilinear",
    "Constant",
    "Cosine",
    "Discrete",
    "Kernel",
    "Linear",
    "Matern",
    "Matern32",
    "Matern52",
    "Periodic",
    "PiecewisePolynomial",
    "Polynomial",
    "Power",
    "Product",
    "RadialPeriodic",
    "RationalQuadratic",
    "Scale",
    "Sum",
    "Warped",
]
