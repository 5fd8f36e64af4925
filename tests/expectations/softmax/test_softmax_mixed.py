"""Softmax by draws: correlated logits (3.13), (3.14) and plain Monte Carlo. What a finite average promises."""

from collections.abc import Callable
from itertools import product
from typing import final

import pytest
import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jacrev

from gplens.expectations.expectation import Jet
from gplens.expectations.softmax.classes import Softmax
from gplens.expectations.softmax.integral import softmax_moments
from gplens.expectations.softmax.sampled import (
    SMALL,
    MixedSoftmax,
    SampledSoftmax,
    SoftmaxMonteCarlo,
)
from gplens.expectations.softmax.sampled import _averages as averages
from gplens.processes.process import Marginals
from messages import naming
from rounding import assert_rounded

GENERATOR = torch.Generator().manual_seed(4)
M = torch.randn(4, 3, generator=GENERATOR, dtype=torch.float64)
INNER = torch.randn(3, 2, generator=GENERATOR, dtype=torch.float64)
m = torch.randn(5, 3, generator=GENERATOR, dtype=torch.float64)
v = 3 * torch.rand(5, 3, generator=GENERATOR, dtype=torch.float64)
z = torch.randn(64, 3, generator=GENERATOR, dtype=torch.float64)
SHIFT = torch.randn(64, 4, generator=GENERATOR, dtype=torch.float64)

ROUNDINGS = 64
"""Averages of numbers of size one: the error of a sum of n terms, divided by n, is log2(n) roundings or so."""

CUBE = torch.tensor(list(product((-1.0, 1.0), repeat=3)), dtype=torch.float64)
"""Eight draws whose mean is 0, whose covariance is the identity and whose third moments vanish."""


@final
class Given(Marginals):
    """Means and variances (inputs, latents) at one node."""

    def __init__(self, m: Tensor, v: Tensor) -> None:
        self.given = m[:, :, None], v[:, :, None]

    def means(self) -> Float[Tensor, "b c q"]:
        return self.given[0]

    def variances(self) -> Float[Tensor, "b c q"]:
        return self.given[1]

    def pull_back(self, wm: Tensor, wv: Tensor | None) -> Tensor:
        raise NotImplementedError


def replicates(softmax: SampledSoftmax, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Values and derivatives, (replicates, inputs, ...)."""
    R, C = softmax.replicates, softmax.count(m.shape[1])
    jet: Jet = softmax.jet(Given(m, v), tuple(range(R * C)))
    assert jet.by_v is not None
    value, by_m, by_v = (part[..., 0].unflatten(1, (R, C)).movedim(1, 0) for part in jet)
    return value, by_m, by_v


@pytest.mark.parametrize("shift", [0.0, SHIFT], ids=["no noise", "noise"])
def test_averages_give_the_exact_derivatives_of_their_own_value(shift: Tensor | float) -> None:
    """Pathwise (3.13): not of the expectation, of the finite average. Otherwise attributions would not add up."""

    def value(m: Tensor, v: Tensor) -> Tensor:
        return torch.softmax((m + v.sqrt() * z) @ M.T + shift, dim=1).mean(0)[[2, 0]]

    ours, by_m, by_v = averages(m, v, M, z, shift, [2, 0])
    for e in range(len(m)):
        assert_rounded(ours[e], value(m[e], v[e]), roundings=ROUNDINGS)
        assert_rounded(by_m[e], jacrev(value)(m[e], v[e]), roundings=ROUNDINGS)
        assert_rounded(by_v[e], jacrev(value, 1)(m[e], v[e]), roundings=8 * ROUNDINGS)


def test_averages_equal_central_differences_of_their_own_value() -> None:
    h, classes = 1e-5, [0, 1, 2, 3]
    _, by_m, by_v = averages(m, v, M, z, SHIFT, classes)
    for j in range(3):
        step = h * torch.eye(3, dtype=torch.float64)[j]
        up, down = (averages(m + sign * step, v, M, z, SHIFT, classes)[0] for sign in (1, -1))
        assert (by_m[:, :, j] - (up - down) / (2 * h)).abs().max() < 1e-9
        up, down = (averages(m, v + sign * step, M, z, SHIFT, classes)[0] for sign in (1, -1))
        assert (by_v[:, :, j] - (up - down) / (2 * h)).abs().max() < 1e-8


def test_the_branch_of_small_deviations_continues_the_other() -> None:
    """With draws of unit covariance (3.13) tends to (3.14); at the seam it has lost eight digits, and no more."""
    classes = [0, 1, 2, 3]
    v_above, v_below = (torch.full_like(m, (factor * SMALL) ** 2) for factor in (1.001, 0.999))
    above, below, zero = (averages(m, x, M, CUBE, 0.0, classes)[2] for x in (v_above, v_below, torch.zeros_like(m)))
    assert (above - below).abs().max() < 1e-8
    assert (below - zero).abs().max() < 1e-12
    assert zero.abs().max() > 1e-2


def test_without_variance_the_derivative_is_half_the_second_derivative() -> None:
    """Autograd's, of softmax(M f) in one latent function."""

    def softmax(f: Tensor) -> Tensor:
        return torch.softmax(M @ f, dim=0)

    by_v = averages(m, torch.zeros_like(m), M, z, 0.0, [0, 1, 2, 3])[2]
    for e in range(len(m)):
        second = torch.einsum("cll->cl", jacrev(jacrev(softmax))(m[e]))
        assert_rounded(by_v[e], second / 2, roundings=ROUNDINGS)


def jitter(variance: float, outputs: int) -> Float[Tensor, "c c"]:
    """Noise on each output alone."""
    return variance**0.5 * torch.eye(outputs, dtype=torch.float64)


@pytest.mark.slow
def test_a_mix_of_a_mix_with_jitter_agrees_with_a_million_draws() -> None:
    """S(M (M2 f + sqrt(0.5) e) + sqrt(0.3) e2), as an LMC does: the jitter of both mixes reaches the logits."""
    outer = MixedSoftmax(torch.eye(4, dtype=torch.float64), points=1024).of_mixes(M, jitter(0.3, 4))
    ours = replicates(outer.of_mixes(INNER, jitter(0.5, 3)), m[:2, :2], v[:2, :2])
    generator, count = torch.Generator().manual_seed(9), 1_000_000
    z, first, second = (torch.randn(count, k, generator=generator, dtype=torch.float64) for k in (2, 3, 4))
    both = M @ INNER
    for row in range(2):
        sd = v[row, :2].sqrt()
        S = torch.softmax(((m[row, :2] + sd * z) @ INNER.T + 0.5**0.5 * first) @ M.T + 0.3**0.5 * second, dim=1)
        slope = S[:, :, None] * (both - (S @ both)[:, None])  # dS_c/df_l
        for part, draws in zip(ours, (S, slope, slope * (z / (2 * sd))[:, None]), strict=True):
            spread = part[:, row].std(0) / len(part) ** 0.5
            error = torch.sqrt(spread**2 + draws.var(0) / count)
            assert ((part[:, row].mean(0) - draws.mean(0)).abs() <= 4.5 * error).all()


def test_independent_logits_of_common_latents_become_a_mix() -> None:
    mixed = Softmax().of_mixes(M, jitter(0.3, 4)).of_mixes(INNER, jitter(0.5, 3))
    assert isinstance(mixed, MixedSoftmax)
    assert mixed.noise is not None
    torch.testing.assert_close(mixed.weights, M @ INNER)
    covariance = 0.3 * torch.eye(4, dtype=torch.float64) + 0.5 * M @ M.T
    torch.testing.assert_close(mixed.noise @ mixed.noise.T, covariance)


def test_mixing_refuses_what_it_has_no_form_for() -> None:
    with pytest.raises(ValueError, match=naming(3, 2)):
        MixedSoftmax(M).count(2)
    with pytest.raises(ValueError, match=naming("SoftmaxMonteCarlo", "links.Softmax()")):
        SoftmaxMonteCarlo(40, seed=0).of_mixes(M, M[:, :0])
    for samples in (0, 7, 30):
        with pytest.raises(ValueError, match=naming("SoftmaxMonteCarlo", 20, samples)):
            SoftmaxMonteCarlo(samples, seed=0)


@pytest.mark.parametrize("softmax", [MixedSoftmax(M), SoftmaxMonteCarlo(40, seed=0)], ids=["mixed", "Monte Carlo"])
def test_bad_marginals_are_refused_with_a_reason(softmax: SampledSoftmax) -> None:
    with pytest.raises(ValueError, match=naming(-1)):
        softmax.jet(Given(m, torch.full_like(v, -1)), (0,))
    with pytest.raises(ValueError, match=naming("finite")):
        softmax.jet(Given(torch.full_like(m, torch.nan), v), (0,))


@pytest.mark.parametrize(
    ("softmax", "latents"), [(MixedSoftmax(M[:1]), 3), (SoftmaxMonteCarlo(40, seed=0), 1)], ids=["mixed", "Monte Carlo"]
)
def test_one_class_is_refused(softmax: SampledSoftmax, latents: int) -> None:
    with pytest.raises(ValueError, match=naming("classes", 1, "links.Sigmoid()")):
        softmax.count(latents)


SAMPLED: dict[str, Callable[[int], SampledSoftmax]] = {
    "quasi Monte Carlo": lambda seed: MixedSoftmax(M[:3], seed=seed, points=64),
    "quasi Monte Carlo with noise": lambda seed: MixedSoftmax(M[:3], noise=M[:3, :2], seed=seed, points=64),
    "Monte Carlo": lambda seed: SoftmaxMonteCarlo(400, seed=seed),
}
either = pytest.mark.parametrize("make", SAMPLED.values(), ids=SAMPLED)


@either
def test_a_seed_repeats_its_draws_and_another_does_not(make: Callable[[int], SampledSoftmax]) -> None:
    first, repeated, other = (replicates(make(seed), m, v)[0] for seed in (5, 5, 6))
    assert_rounded(first, repeated, roundings=ROUNDINGS)  # the same draws, averaged by products of matrices
    everything = torch.cat([first, other])
    distances = (everything[:, None] - everything).abs().amax((2, 3))
    assert (distances + torch.eye(len(everything)) > 1e-6).all()  # no replicate of either seed is another's


@pytest.mark.slow
@either
def test_standard_errors_are_those_of_repeated_runs(make: Callable[[int], SampledSoftmax]) -> None:
    """The spread over 250 seeds, beside what the replicates of each say of it: within 30 % for every number."""
    runs = [replicates(make(seed), m[:2], v[:2]) for seed in range(250)]
    for parts in zip(*runs, strict=True):
        R = len(parts[0])
        spread = torch.stack([part.mean(0) for part in parts]).std(0)
        reported = torch.stack([part.var(0) / R for part in parts]).mean(0).sqrt()
        assert (spread / reported - 1).abs().max() < 0.3


@either
def test_every_replicate_sums_to_one_and_its_derivatives_to_zero(make: Callable[[int], SampledSoftmax]) -> None:
    value, by_m, by_v = replicates(make(1), m, v)
    assert (value.sum(2) - 1).abs().max() < 1e-13
    assert by_m.sum(2).abs().max() < 1e-13
    assert by_v.sum(2).abs().max() < 1e-12


@pytest.mark.parametrize("count", [2, 3])
def test_the_identity_as_mix_agrees_with_the_exact_integral(count: int) -> None:
    """Values and both derivatives within six standard errors of eight scramblings."""
    exact = softmax_moments(m[:, :count], v[:, :count])
    ours = replicates(MixedSoftmax(torch.eye(count, dtype=torch.float64), points=2048), m[:, :count], v[:, :count])
    for part, truth in zip(ours, (exact.value, *exact.jacobian()), strict=True):
        error = part.std(0) / len(part) ** 0.5
        assert ((part.mean(0) - truth).abs() <= 6 * error + 1e-12).all()
        assert error.max() < 1e-2


def test_refinement_doubles_the_points_and_ends() -> None:
    finer, steps = MixedSoftmax(M), 0
    while (next_ := finer.refined()) is not None:
        assert next_.points == 2 * finer.points
        finer, steps = next_, steps + 1
    assert steps == 6
    assert SoftmaxMonteCarlo(40, seed=0).refined() is None


def test_chunks_do_not_change_the_averages(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = replicates(MixedSoftmax(M), m, v)
    monkeypatch.setattr("gplens.expectations.softmax.sampled.CHUNK", 1)
    for average, chunked in zip(whole, replicates(MixedSoftmax(M), m, v), strict=True):
        assert_rounded(average, chunked, roundings=ROUNDINGS)


@pytest.mark.parametrize("weights", [torch.full((3, 2), torch.nan).double(), torch.ones(3, 2)])
def test_mixing_weights_that_are_none_are_refused(weights: Tensor) -> None:
    with pytest.raises(ValueError, match=naming("finite", "float64", "(3, 2)", weights.dtype)):
        MixedSoftmax(weights)
