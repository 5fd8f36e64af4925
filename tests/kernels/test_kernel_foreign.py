"""Kernels of other libraries where one of gplens is expected: refused by name."""

import subprocess
import sys

import gpytorch
import pytest
import sklearn.gaussian_process
import torch

from gplens.kernels import RBF
from gplens.kernels.kernel import check_kernel
from messages import naming

FOREIGN = {
    "sklearn.gaussian_process.kernels.RBF": lambda: sklearn.gaussian_process.kernels.RBF(),
    "gpytorch.kernels.rbf_kernel.RBFKernel": lambda: gpytorch.kernels.RBFKernel(),
    "the class RBF": lambda: RBF,
    "builtins.str": lambda: "rbf",
    "builtins.NoneType": lambda: None,
}
PROGRAM = """
import torch, gplens
from gplens import kernels
from sklearn.gaussian_process.kernels import RBF
Z, one = torch.zeros(3, 2).double(), torch.ones(1).double()
for use in (
    lambda: gplens.Posterior.exact(RBF(), Z, Z[:, 0], noise=0.1),
    lambda: gplens.Posterior.from_arrays(RBF(), Z, Z[:, 0], torch.eye(3)),
    lambda: kernels.Scale(RBF(), one[0]),
    lambda: kernels.Sum((kernels.RBF(one), RBF())),
    lambda: kernels.ActiveDimensions(RBF(), torch.tensor([0])),
):
    try:
        use()
    except TypeError as refusal:
        print(refusal)
"""


@pytest.mark.parametrize("name", FOREIGN)
def test_a_kernel_of_another_library_is_refused_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=naming(name, "gplens.kernels.RBF")):
        check_kernel(FOREIGN[name]())


def test_kernels_of_gplens_are_accepted() -> None:
    check_kernel(RBF(torch.ones(1).double()))


def test_every_place_that_takes_a_kernel_says_so() -> None:
    """In a process of its own: in the tests, beartype refuses the type before."""
    printed = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert printed.count("sklearn.gaussian_process.kernels.RBF") == 5
