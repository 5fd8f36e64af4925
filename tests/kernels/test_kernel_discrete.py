"""A kernel of names: exact where the path leaves them alone, switched at once where it does not."""

import numpy as np
import pytest
import torch
from torch import Tensor

import gplens
from conformance.zoo import generator, normal
from gplens.kernels import RBF, ActiveDimensions, Discrete, Product, Warped
from gplens.lines.line import Line
from messages import naming


def same(X: Tensor, Z: Tensor) -> Tensor:
    """1 for the same name, 1/e for another."""
    return torch.exp(-(X[:, None] != Z[None]).double().mean(2))


def product() -> Product:
    name = ActiveDimensions(Discrete(same, lambda X: torch.ones_like(X[:, 0]), "names"), torch.tensor([2]))
    return Product((ActiveDimensions(RBF(torch.tensor([0.7, 1.2]).double()), torch.tensor([0, 1])), name))


def data() -> tuple[Tensor, Tensor]:
    Z = torch.cat([normal(generator(0), 12, 2), torch.arange(12).remainder(3)[:, None].double()], dim=1)
    return Z, Z[:, 0].sin() + 0.5 * Z[:, 2]


def test_it_is_a_model_of_the_numbers_alone_where_all_names_are_the_same() -> None:
    """Support points of another name count 1/e: weights in beta, and squared ones in A."""
    kernel, (Z, y) = product(), data()
    gp = gplens.Posterior.exact(kernel, Z, y, noise=0.1)
    weight = same(Z[:1, 2:], Z[:, 2:])[0]
    alone = gplens.Posterior(kernel.kernels[0].kernel, Z[:, :2], gp.beta * weight, (gp.A.matrix * weight).mT * weight)
    X, x0 = torch.cat([normal(generator(1), 3, 2), Z[:1, 2:].expand(3, 1)], dim=1), Z[0]
    options = {"likelihood": gplens.links.Exp(), "uncertainty": gplens.Full(tolerance=1e-7)}
    e = gplens.explain(gp, X, baseline=x0, **options)
    expected = gplens.explain(alone, X[:, :2], baseline=x0[:2], **options)
    torch.testing.assert_close(e.values[:, :2], expected.values, rtol=1e-9, atol=1e-11)
    assert e.covariance is not None
    torch.testing.assert_close(e.covariance[:, :2, :2], expected.covariance, rtol=1e-7, atol=1e-10)
    assert not e.values[:, 2].any()
    assert not e.covariance[:, 2].any()


@pytest.mark.parametrize("warped", [False, True], ids=["straight", "curved"])
def test_a_path_between_names_switches_them(warped: bool) -> None:
    """One name: the average over the path of the change that it makes  (10.2)."""
    kernel, (Z, y) = product(), data()
    if warped:
        kernel = Warped(kernel, lambda x: torch.cat([x[:, :2].exp(), x[:, 2:]], dim=1))
    gp = gplens.Posterior.exact(kernel, Z, y, noise=0.1)
    e = gplens.explain(gp, Z[2:3], baseline=Z[0], likelihood=gplens.links.Identity(), tolerance=1e-9)
    t, w = (torch.as_tensor(part) for part in np.polynomial.legendre.leggauss(40))
    path = Z[0] + (t[:, None] + 1) / 2 * (Z[2] - Z[0])
    before, after = (torch.cat([path[:, :2], Z[row, 2].expand(40, 1)], dim=1) for row in (0, 2))
    change = (gp.m(after) - gp.m(before))[:, 0] @ w / 2
    assert float(e.values[0, 2]) == pytest.approx(float(change), rel=1e-7)
    assert float(e.values.sum()) == pytest.approx(float(gp.m(Z[2:3]) - gp.m(Z[:1])), rel=1e-8)


def test_the_diagonal_refuses_too() -> None:
    kernel = Discrete(same, lambda X: torch.ones_like(X[:, 0]), "names")
    x0, t = torch.zeros(1, 1).double(), torch.zeros(1, 2).double()
    with pytest.raises(ValueError, match=naming(1, "names")):
        kernel.along_diagonal(Line(x0, x0 + 1, t))
    assert kernel.along_diagonal(Line(x0, x0, t)).values.tolist() == [[1, 1]]
