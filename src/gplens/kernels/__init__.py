"""Kernels: one per file, each with its values along a line and its pull-back (MATH 4)."""

from gplens.kernels.autograd import Autograd
from gplens.kernels.composite import ActiveDimensions, Product, Scale, Sum
from gplens.kernels.constant import Constant
from gplens.kernels.cosine import Cosine
from gplens.kernels.discrete import Discrete
from gplens.kernels.kernel import Kernel
from gplens.kernels.linear import Linear
from gplens.kernels.matern import Matern32, Matern52
from gplens.kernels.matern_any import Matern
from gplens.kernels.periodic import Periodic
from gplens.kernels.polynomial import Polynomial
from gplens.kernels.power import Power
from gplens.kernels.radial_periodic import RadialPeriodic
from gplens.kernels.rational_quadratic import RationalQuadratic
from gplens.kernels.rbf import RBF
from gplens.kernels.warped import Warped

__all__ = [
    "RBF",
    "ActiveDimensions",
    "Autograd",
    "Constant",
    "Cosine",
    "Discrete",
    "Kernel",
    "Linear",
    "Matern",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Power",
    "Product",
    "RadialPeriodic",
    "RationalQuadratic",
    "Scale",
    "Sum",
    "Warped",
]
