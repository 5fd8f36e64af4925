"""What processes and kernels that hold others pass on: columns of categories, rounded columns, numbers of kinks."""

import pytest
import torch
from torch import Tensor

import gplens
from gplens.kernels import RBF, ActiveDimensions, Discrete, Kernel, Power, Product, Scale, Sum, Warped
from gplens.processes.category_blocks import category_blocks
from gplens.processes.curved import Curved
from gplens.processes.cut import Cut
from gplens.processes.process import Process
from gplens.processes.smooth_map import SmoothMap
from gplens.processes.transformed import AffineMap, Transformed

SWAPPED = torch.tensor([2, 0, 1])


def discrete() -> Discrete:
    def same(x: Tensor, z: Tensor) -> Tensor:
        return (x[:, None, 0] == z[None, :, 0]).double()

    return Discrete(same, lambda x: torch.ones(len(x), dtype=torch.float64), "same category")


def kernel() -> Kernel:
    """Numbers in columns 0 and 2, a category in column 1."""
    numbers = ActiveDimensions(RBF(torch.ones(2, dtype=torch.float64)), torch.tensor([0, 2]))
    return Product((numbers, ActiveDimensions(discrete(), torch.tensor([1]))))


def posterior() -> gplens.Posterior:
    Z = torch.tensor([[0.0, 1.0, 0.5], [1.0, 2.0, 0.0]], dtype=torch.float64)
    return gplens.Posterior.exact(kernel(), Z, Z[:, 0], noise=0.1)


VARIANCE = torch.tensor(2.0, dtype=torch.float64)
KERNELS = {
    "product": kernel(),
    "scale": Scale(kernel(), VARIANCE),
    "power": Power(kernel(), 2),
    "sum": Sum((kernel(), ActiveDimensions(discrete(), torch.tensor([1])))),
    "warped": Warped(kernel(), lambda x: x * 2),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_know_their_categories(name: str) -> None:
    assert set(KERNELS[name].categories(posterior().Z)) == {1}


def test_a_kernel_of_numbers_has_none() -> None:
    rbf = RBF(torch.ones(3, dtype=torch.float64))
    assert rbf.categories(posterior().Z) == Scale(rbf, VARIANCE).categories(posterior().Z) == ()


def shuffled() -> AffineMap:
    """Column k of the base is column SWAPPED[k] of the inputs: the category is the first one."""
    return AffineMap.columns(3, SWAPPED)


PROCESSES: dict[str, tuple[Process, tuple[tuple[int, ...], ...]]] = {
    "posterior": (posterior(), ((1,),)),
    "cut": (Cut.graded(posterior()), ((1,),)),
    "mix": (gplens.Mix(posterior(), torch.ones(2, 1, dtype=torch.float64)), ((1,),)),
    "stack": (gplens.Stack((posterior(), posterior())), ((1,),)),
    "transformed": (Transformed.through(posterior(), shuffled()), ((0,),)),
    "curved": (Curved(posterior(), SmoothMap.of(shuffled())), ((0,),)),
    "cut of transformed": (Cut.graded(Transformed.through(posterior(), shuffled())), ((0,),)),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_processes_know_the_categories_of_their_inputs(name: str) -> None:
    process, blocks = PROCESSES[name]
    assert category_blocks(process) == blocks


def test_rounded_columns_are_those_of_the_map() -> None:
    rounding = AffineMap(torch.eye(3, dtype=torch.float64), lambda x: x, rounded=(2,))
    process = Transformed.through(posterior(), rounding)
    assert posterior().rounded == ()
    assert process.rounded == Cut.graded(process).rounded == gplens.Stack((process,)).rounded == (2,)


def test_a_mix_is_cut_as_often_as_its_base() -> None:
    curved = Curved(posterior(), SmoothMap.of(shuffled()))
    assert gplens.Mix(curved, torch.ones(1, 1, dtype=torch.float64)).cuts == curved.cuts


def test_a_power_of_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        Power(2.0, 2)  # pyright: ignore[reportArgumentType]
