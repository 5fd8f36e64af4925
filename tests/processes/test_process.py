"""Processes made of processes: side by side, and linearly mixed."""

import pytest
import torch
from hypothesis import given

import gplens
from conformance.zoo import FEATURES, KERNELS, fitted, generator, normal, rows, seeds, uniform
from gplens import Mix, Posterior, Stack
from gplens.baselines import Rows
from gplens.kernels import RBF
from gplens.lines.line import Line
from messages import naming
from oracles.dense import DensePosterior, gradient

WEIGHTS = torch.tensor([[1.0, -0.5, 0.3], [0.0, 2.0, 1.0]]).double()


def three(seed: int) -> tuple[list[Posterior], list[DensePosterior]]:
    seeds = {"rbf": seed, "matern52": seed + 4, "deep nesting": seed + 17}
    pairs = [fitted(KERNELS[name], seed) for name, seed in seeds.items()]
    return [posterior for posterior, _ in pairs], [dense for _, dense in pairs]


@given(seed=seeds)
def test_a_stack_has_the_marginals_of_its_parts(seed: int) -> None:
    (parts, dense), X = three(seed), normal(generator(seed), 4, FEATURES)
    stack = Stack(tuple(parts))
    assert (stack.latents, stack.features) == (3, FEATURES)
    for i, part in enumerate(dense):
        torch.testing.assert_close(stack.m(X)[:, i], part.m(X), rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(stack.v(X)[:, i], part.v(X), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(stack.m_gradient(X)[:, i], gradient(part.m, X), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(stack.v_gradient(X)[:, i], gradient(part.v, X), rtol=1e-9, atol=1e-9)


@given(seed=seeds)
def test_a_mix_has_the_marginals_of_a_linear_map_of_independent_latents(seed: int) -> None:
    """m = M m_l,  v = M^2 v_l + jitter."""
    (parts, dense), X = three(seed), normal(generator(seed), 4, FEATURES)
    mix = Mix(Stack(tuple(parts)), WEIGHTS, 1e-3)
    assert mix.latents == 2
    for i, w in enumerate(WEIGHTS):
        m = sum(a * part.m(X) for a, part in zip(w, dense, strict=True))
        v = sum(a**2 * part.v(X) for a, part in zip(w, dense, strict=True)) + 1e-3
        dm = sum(a * gradient(part.m, X) for a, part in zip(w, dense, strict=True))
        dv = sum(a**2 * gradient(part.v, X) for a, part in zip(w, dense, strict=True))
        for mixed, expected in ((mix.m(X), m), (mix.v(X), v), (mix.m_gradient(X), dm), (mix.v_gradient(X), dv)):
            torch.testing.assert_close(mixed[:, i], expected, rtol=1e-9, atol=1e-9)


def test_lengths_are_those_of_the_part_that_forgets_first() -> None:
    parts, _ = three(0)
    line = Line(torch.zeros(1, 4).double(), uniform(generator(0), -1, 1, 2, 4), torch.zeros(2, 0).double())
    longest = torch.stack([part.length(line) for part in parts]).amax(0)
    torch.testing.assert_close(Stack(tuple(parts)).length(line), longest)
    torch.testing.assert_close(Mix(Stack(tuple(parts)), WEIGHTS).length(line), longest)


def test_parts_that_do_not_fit_are_refused() -> None:
    parts, _ = three(0)
    kernel, Z = parts[0].kernel, parts[0].Z[:, :3]
    assert isinstance(kernel, RBF)
    narrow = Posterior(RBF(kernel.lengthscale[:3]), Z, parts[0].beta, parts[0].A)
    with pytest.raises(ValueError, match=naming("Stack", "features", [4, 3])):
        Stack((parts[0], narrow))
    with pytest.raises(ValueError, match=naming("Stack", "process", [])):
        Stack(())
    with pytest.raises(ValueError, match=naming("Mix", "columns", 2, 3)):
        Mix(Stack((parts[0], parts[1])), WEIGHTS)
    with pytest.raises(ValueError, match=naming("Mix", "independent", "mixes", "weights")):
        Mix(Mix(Stack(tuple(parts)), WEIGHTS), torch.ones(1, 2).double())


@pytest.mark.parametrize("name", ["rbf", "matern52", "rational quadratic", "periodic", "linear", "polynomial"])
def test_a_kernel_of_another_number_of_features_is_refused_with_both(name: str) -> None:
    """A posterior of three features whose kernel has four parameters."""
    posterior, _ = fitted(KERNELS[name], 0)
    Z, message = posterior.Z[:, :3], naming(type(posterior.kernel).__name__, "features", 4, 3)
    with pytest.raises(ValueError, match=message):
        Posterior(posterior.kernel, Z, posterior.beta, posterior.A)
    with pytest.raises(ValueError, match=message):
        posterior.kernel.prepare(Z)


def test_mixes_side_by_side_are_drawn_with_what_they_share() -> None:
    """f and -2 f in one part, an independent function in another: every draw of the second is -2 times the first's."""
    (parts, _), (X, X0) = three(6), rows(6)
    stack = Stack((Mix(parts[0], torch.tensor([[1.0], [-2.0]]).double()), parts[1]))
    options = {"baseline": Rows(X0), "target": gplens.targets.Latent(), "uncertainty": gplens.Samples(400, seed=0)}
    draws = gplens.explain(stack, X, **options).draws
    assert draws is not None
    torch.testing.assert_close(draws[:, :, 1], -2 * draws[:, :, 0], rtol=0, atol=1e-6)  # a root of 1e-13
    correlations = [torch.corrcoef(pair)[0, 1].abs() for pair in draws[:, :, [0, 2], 0].mT]
    assert max(correlations) < 0.25


def test_scaled_mixes_keep_their_sources_and_noise() -> None:
    """f = D (M g + sqrt(0.1) e): weights D M, noise of variance 0.1 D^2."""
    parts, _ = three(7)
    scale = torch.diag(torch.tensor([3.0, -1.0]).double())
    sources = Mix(Mix(Stack(tuple(parts)), WEIGHTS, 0.1), scale).sources()
    torch.testing.assert_close(sources.weights, scale @ WEIGHTS)
    torch.testing.assert_close(sources.jitter, 0.1 * scale.diagonal() ** 2)


def test_an_explanation_of_a_mix_is_the_mix_of_explanations() -> None:
    """Linearity: the latent mean of M f is M times the latent means, and so are the attributions."""
    (parts, _), (X, X0) = three(5), rows(5)
    latent = gplens.targets.Latent()
    unmixed = torch.stack(
        [gplens.explain(p, X, baseline=Rows(X0), target=latent, tolerance=1e-11).values for p in parts], dim=1
    )
    mixed = gplens.explain(Mix(Stack(tuple(parts)), WEIGHTS), X, baseline=Rows(X0), target=latent, tolerance=1e-11)
    assert mixed.output_names == ("output 0", "output 1")
    torch.testing.assert_close(mixed.values, WEIGHTS @ unmixed, rtol=1e-9, atol=1e-10)
