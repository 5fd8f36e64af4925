"""Inputs that did not converge warn once, with the cause and the remedy; others do not."""

import warnings

import pytest
import torch

import gplens
from conformance.zoo import KERNELS, fitted, generator, normal, rows
from gplens import ConvergenceWarning, Diagonal, Posterior
from gplens.baselines import Rows, Sample
from gplens.kernels import RBF, Matern32
from gplens.links import Exp, Identity, Probit
from gplens.paths import hard_rows
from gplens.rules import Adaptive, GaussLegendre
from messages import naming


def posterior(lengthscales: list[float], kernel: type = RBF, size: float = 1.0) -> Posterior:
    g = generator(3)
    scale = torch.tensor(lengthscales, dtype=torch.float64)
    return Posterior.exact(kernel(scale), normal(g, 12, len(lengthscales)), size * normal(g, 12), noise=0.1)


def explained(model: Posterior, **options: object) -> gplens.Explanation:
    X = normal(generator(5), 3, len(model.Z[0]))
    settings = {"baseline": 0.0, "likelihood": Identity(), "support": False, "feature_names": ["hour", "wind"]}
    return gplens.explain(model, X, **{**settings, **options})  # pyright: ignore[reportArgumentType]


def test_a_tiny_lengthscale_is_named() -> None:
    expected = naming("attributions of 3 of 3 inputs", "the first is 0", "lengthscales", "'wind'", "baseline")
    with pytest.warns(ConvergenceWarning, match=expected) as caught:
        e = explained(posterior([1.0, 1e-5]), rule=Adaptive(panels=16))
    assert len(caught) == 1
    assert e.converged is not None
    assert not e.converged.any()


def test_a_steep_link_and_a_rough_kernel_are_named() -> None:
    steep = posterior([1.0, 1.0], size=300.0)
    with pytest.warns(ConvergenceWarning, match=naming("link is steep", "noise", "1e-13")):
        explained(steep, likelihood=Probit(), rule=Adaptive(panels=1), tolerance=1e-13)
    with pytest.warns(ConvergenceWarning, match=naming("kernel is rough", "smoother kernel")):
        explained(posterior([1.0, 1.0], Matern32), rule=Adaptive(panels=1), tolerance=1e-13)


def test_very_many_nodes_are_worth_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard_rows, "MANY", 20)
    model = posterior([0.2, 0.2])
    with pytest.warns(ConvergenceWarning, match=naming("took more than 20 nodes")):
        e = explained(model)
    assert e.converged is not None
    assert e.converged.all()
    wide = posterior([3.0, 3.0])
    explained(wide)
    explained(wide, baseline=Sample(normal(generator(1), 5, 2)))  # 20 nodes of each path


def test_good_fits_do_not_warn() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in ("rbf", "matern52", "matern32", "linear"):
            (process, _), (X, X0) = fitted(KERNELS[name], 3), rows(3, 3)
            request = {"likelihood": Exp(), "uncertainty": Diagonal()}
            gplens.explain(process, X, baseline=Rows(X0), **request)
            gplens.explain(process, X, baseline=Rows(X0), rule=GaussLegendre(2), **request)
    assert not [warning for warning in caught if issubclass(warning.category, ConvergenceWarning)]
