"""The support of an explanation: where it is least, what is collected where it is low, and the warning."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.integrate import fixed_quad
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

import gplens
from conformance.zoo import KERNELS, fitted, rows
from gplens.baselines import Rows, Sample
from gplens.kernels import RBF, Scale
from gplens.links import Exp
from gplens.paths.prior_part import NODES
from messages import naming

X, X0 = rows(5, 6)
LENGTHS = torch.tensor([0.9, 1.4, 1.1], dtype=torch.float64)


def diagonal(name: str) -> torch.Tensor:
    """k(x,x) from the kernel's values at pairs of points."""
    return torch.stack([fitted(KERNELS[name], 3)[0].kernel(x[None], x[None])[0, 0] for x in X])


def line_of_data() -> tuple[gplens.Posterior, torch.Tensor]:
    """Twelve rows around the origin, with the model that they determine."""
    Z = torch.randn(12, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernel = Scale(RBF(LENGTHS), torch.tensor(2.0, dtype=torch.float64))
    return gplens.Posterior.exact(kernel, Z, Z.sin().sum(1), noise=0.01), Z


def explain(**options: object) -> gplens.Explanation:
    """From two lengthscales away into the data, and from within them to far away."""
    posterior, _ = line_of_data()
    x = torch.tensor([[0.2, -0.1, 0.3], [4.0, 3.0, -3.0]], dtype=torch.float64)
    x0 = torch.tensor([[3.0, 2.5, 2.0], [0.1, 0.0, 0.0]], dtype=torch.float64)
    return gplens.explain(posterior, x, baseline=Rows(x0), likelihood=Exp(), **options)  # type: ignore[arg-type]


def test_the_support_is_the_least_of_the_latent_functions_along_each_path() -> None:
    """Point by point from v and k; a background is averaged; it stays with rows and contrasts."""
    stack = gplens.Stack((fitted(KERNELS["rbf"], 3)[0], fitted(KERNELS["matern52"], 3)[0]))
    options = {"likelihood": Exp(), "support": True, "rule": gplens.rules.GaussLegendre(8)}
    e = gplens.explain(stack, X, baseline=Rows(X0), **options)
    assert e.support is not None
    assert e.support.along.shape == (6, NODES)
    k = torch.stack([diagonal("rbf")[0], diagonal("matern52")[0]])  # both are the same everywhere
    for node in (0, 10, NODES - 1):
        points = e.baseline + node / (NODES - 1) * (X - e.baseline)
        torch.testing.assert_close(e.support.along[:, node], (1 - stack.v(points) / k).amin(1), rtol=0, atol=1e-9)
    torch.testing.assert_close(e.support.minimum, e.support.along.amin(1))
    at = e.baseline + e.support.place[:, None] * (X - e.baseline)
    torch.testing.assert_close((1 - stack.v(at) / k).amin(1), e.support.minimum, rtol=0, atol=1e-9)
    part, contrast = e[2:4].support, e.contrast(0, 1).support
    assert part is not None
    assert contrast is not None
    assert torch.equal(part.along, e.support.along[2:4])
    assert contrast.prior_part is not None
    assert e.support.prior_part is not None
    assert torch.equal(contrast.prior_part, e.support.prior_part[:, 0] - e.support.prior_part[:, 1])
    background = gplens.explain(stack, X[:2], baseline=Sample(X0[:2]), **options).support
    singles = [gplens.explain(stack, X[:2], baseline=x0, **options).support for x0 in X0[:2]]
    assert background is not None
    for name in ("along", "prior_part", "data_part", "distance"):
        mean = torch.stack([getattr(single, name) for single in singles]).mean(0)
        torch.testing.assert_close(getattr(background, name), mean, rtol=1e-9, atol=1e-11)
    assert gplens.explain(stack, X[:1], baseline=0.0, likelihood=Exp()).support is None


def test_the_prior_part_is_the_integral_over_the_part_of_the_path_with_a_low_support() -> None:
    """scipy's quadrature of central differences of the prediction, between the roots of 1 - v/k = 1/2."""
    posterior, _ = line_of_data()
    e = explain(support=True, tolerance=1e-10)
    assert e.support is not None
    assert e.support.prior_part is not None
    assert e.support.data_part is not None
    torch.testing.assert_close(e.support.prior_part + e.support.data_part, e.values)

    def target(points: np.ndarray) -> np.ndarray:
        X = torch.from_numpy(points)
        return torch.exp(posterior.m(X) + posterior.v(X) / 2)[:, 0].numpy()

    for i in range(2):
        x0, d = e.baseline[i].numpy(), (e.inputs[i] - e.baseline[i]).numpy()

        def excess(t: float, x0: np.ndarray = x0, d: np.ndarray = d) -> float:
            return 0.5 - float(posterior.v(torch.from_numpy(x0 + t * d)[None])) / 2.0  # of the variance 2

        def slopes(t: np.ndarray, k: int, x0: np.ndarray = x0, d: np.ndarray = d) -> np.ndarray:
            at, step = x0 + t[:, None] * d, 1e-5 * np.eye(3)[k]
            return d[k] * (target(at + step) - target(at - step)) / 2e-5

        root = float(brentq(excess, 0.0, 1.0, xtol=1e-13))  # type: ignore[arg-type]
        ends = (0.0, root) if i == 0 else (root, 1.0)
        for k in range(3):
            expected, _ = fixed_quad(slopes, *ends, args=(k,), n=40)
            assert float(e.support.prior_part[i, k]) == pytest.approx(expected, rel=1e-6)


def test_shares_are_of_sizes_and_groups_add_up() -> None:
    e = explain(support=True)
    assert e.support is not None
    P, D = e.support.prior_part, e.support.data_part
    assert P is not None
    assert D is not None
    torch.testing.assert_close(e.support.prior_share, P.abs() / (P.abs() + D.abs()))
    torch.testing.assert_close(e.support.total_prior_share, P.abs().sum(1) / (P.abs() + D.abs()).sum(1))
    grouped = e.group({"both": ["x0", "x2"]}).support
    assert grouped is not None
    assert grouped.prior_part is not None
    torch.testing.assert_close(grouped.prior_part[:, 0], P[:, 0] + P[:, 2])
    certain = gplens.explain(line_of_data()[0], X[:1, :3] * 0, baseline=0.01, likelihood=Exp(), support=True).support
    assert certain is not None
    assert certain.prior_share is not None
    assert not certain.prior_share.any()


def test_the_distance_of_the_baseline_and_the_deviation_of_its_prediction() -> None:
    posterior, Z = line_of_data()
    e = explain(support=True)
    assert e.support is not None
    assert e.support.distance is not None
    nearest = cdist(e.baseline / LENGTHS, Z / LENGTHS).min(1)
    np.testing.assert_allclose(e.support.distance.numpy(), nearest, rtol=1e-12)
    v = posterior.v(e.baseline)[:, 0]
    lognormal = e.baseline_prediction * torch.expm1(v).sqrt()
    torch.testing.assert_close(e.support.baseline_std, lognormal, rtol=1e-6, atol=0)


def test_the_support_is_printed_and_saved(tmp_path: Path) -> None:
    e = explain(support=True)
    assert e.support is not None
    row = int(e.support.minimum.argmin())
    least = f"least support {float(e.support.minimum[row]):.2f} at t = {float(e.support.place[row]):.2f} of input {row}"
    assert least in repr(e)
    assert e.support.total_prior_share is not None
    assert f"{100 * float(e.support.total_prior_share.max()):.0f} % of the attributions" in repr(e)
    e.save(tmp_path / "e")
    loaded = gplens.Explanation.load(tmp_path / "e").support
    assert loaded is not None
    assert set(loaded.tensors()) == set(e.support.tensors())
    assert all(torch.equal(tensor, loaded.tensors()[name]) for name, tensor in e.support.tensors().items())


def test_functions_without_a_prior_have_no_support() -> None:
    functions = gplens.Functions(lambda x: x.sum(1), features=4)
    with pytest.raises(ValueError, match="Functions"):
        gplens.explain(functions, X, baseline=0.0, target=gplens.targets.Latent(), support=True)
    gplens.explain(functions, X, baseline=0.0, target=gplens.targets.Latent())  # nothing is looked at


@pytest.mark.parametrize(
    ("baseline", "inputs", "t", "remedy"),
    [
        (9.0, 0.0, 0, "gplens.baselines.Sample(X_train)"),
        ([7.0, 0.0, 0.0], [-7.0, 0.0, 0.0], 0, "gplens.baselines.Medoid(X_train)"),
        (0.0, 9.0, 1, "no baseline"),
        (30.0, 20.0, 0, "scaling of the training inputs"),
    ],
    ids=["baseline", "both", "input", "everywhere"],
)
def test_a_low_support_warns_once_with_the_remedy(baseline: object, inputs: object, t: float, remedy: str) -> None:
    posterior, x = line_of_data()[0], torch.as_tensor(inputs, dtype=torch.float64).expand(40, 3)
    with pytest.warns(gplens.SupportWarning, match=naming("16 of 16", f"t = {t}", 0.1, remedy)) as caught:
        gplens.explain(posterior, x, baseline=baseline, likelihood=Exp())
    assert len(caught) == 1


def test_a_path_within_the_data_does_not_warn_and_neither_does_one_that_is_not_asked_about() -> None:
    posterior, Z = line_of_data()
    with warnings.catch_warnings(action="error"):
        gplens.explain(posterior, Z[:3], baseline=Sample(Z), likelihood=Exp())
        gplens.explain(posterior, Z[:3], baseline=9.0, likelihood=Exp(), support=False)


def test_what_is_low_between_two_of_the_33_points_is_not_seen() -> None:
    """As SHARP_EDGES.md says: data at all of these points, 2.4 lengthscales from each other."""
    Z = torch.linspace(0, 32 * 2.4, 33, dtype=torch.float64)[:, None]
    gp = gplens.Posterior.exact(RBF(torch.ones(1, dtype=torch.float64)), Z, Z[:, 0].sin(), noise=0.01)
    between = 1 - gp.v((Z[1:] + Z[:-1]) / 2)
    e = gplens.explain(gp, Z[-1:], baseline=Z[0], target=gplens.targets.Latent(), support=True)
    assert e.support is not None
    assert float(between.max()) < 0.5
    assert float(e.support.minimum[0]) > 0.9
    assert not bool(e.support.prior_part.any())
