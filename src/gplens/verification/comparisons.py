"""The checks: identities of attributions, and comparisons with the host library."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation import Explanation
from gplens.uncertainty import Full, Samples
from gplens.verification.differences import integrated_differences
from gplens.verification.distributions import draws_of_attribution, variance_of_change
from gplens.verification.host import Host
from gplens.verification.paths import Paths, by_output
from gplens.verification.verdicts import Check

TOLERANCE = 1e-4
"""The limit for attributions, relative to the largest one of a row or the change of its prediction."""
VARIANCE = 5e-3
"""The limit for the sum of all covariances, relative to the sum of their sizes."""
LEVEL, STATED = 0.9, 2000
"""The level of the interval whose coverage is checked, and the number of draws behind it."""
SIGMAS, FLOOR = 5.0, 0.01
"""Differences that draws of a right model may have: standard errors, and what the differences of the path add."""


def sizes(explanation: Explanation) -> Float[Tensor, "b o"]:
    """The unit of each row and output: the larger of the change and of the largest attribution."""
    e = explanation
    change, values = (by_output(part, e).abs() for part in (e.prediction - e.baseline_prediction, e.values))
    return torch.maximum(change, values.amax(-1)).clamp(min=torch.finfo(torch.float64).tiny)


def check_predictions(host: Host, paths: Paths, e: Explanation) -> Check:
    """T(x) and T(x0) of the explanation against the host's."""
    end, origin = host.in_blocks(paths.x), host.in_blocks(paths.x0)
    ours = torch.cat([by_output(e.prediction, e), by_output(e.baseline_prediction, e)])
    theirs = torch.cat([end, origin])
    worst = float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-300))
    return Check("predictions", "prediction and baseline against the host's own", worst, max(1e-6, host.error))


def check_completeness(host: Host, paths: Paths, e: Explanation) -> Check:
    """sum_k IG_k = T(x) - T(x0)  (4.4), with the predictions of the host."""
    end, origin = host.in_blocks(paths.x), host.in_blocks(paths.x0)
    gap = (by_output(e.values, e).sum(-1) - (end - origin)).abs()
    allowed = TOLERANCE * sizes(e) + 2 * host.error * torch.maximum(end.abs(), origin.abs())
    return _ratio(
        "completeness", "the sum of attributions against the change of the host's prediction", gap, allowed, e
    )


def check_antisymmetry(paths: Paths, e: Explanation) -> Check:
    """The path from input to baseline has the opposite attributions."""
    back = paths.explain(backwards=True)
    worst = (by_output(e.values, e) + by_output(back.values, back)).abs().amax(-1)
    meaning = "attributions from x0 to x against those from x to x0"
    return _ratio("antisymmetry", meaning, worst, TOLERANCE * sizes(e), e)


def check_gradients(host: Host, paths: Paths, e: Explanation, features: int) -> Check:
    """Attributions of the largest features against central differences of the host's prediction."""
    values, unit = by_output(e.values, e), sizes(e)
    worst, allowed = [], []
    for i in range(len(values)):
        chosen = values[i].abs().amax(0).topk(min(features, values.shape[-1])).indices.tolist()
        scale = float(unit[i].max())
        differences, change = integrated_differences(host, paths.x0[i], paths.x[i], chosen, 0.1 * TOLERANCE * scale)
        rounding = 5 * host.error * float(by_output(e.prediction, e)[i].abs().max())
        worst.append((values[i][:, chosen] - differences).abs().amax(-1))
        allowed.append(TOLERANCE * scale + 2 * change.amax(-1) + rounding)
    meaning = (
        f"{min(features, values.shape[-1])} largest attributions against central differences of the host's prediction"
    )
    return _ratio("gradients", meaning, torch.stack(worst), torch.stack(allowed), e)


def check_second_completeness(host: Host, paths: Paths, seed: int) -> Check:
    """sum_kl Cov(IG_k, IG_l) = Var(g(f(x)) - g(f(x0)))  (5.3), the right side from the host."""
    try:
        e, limit = paths.explain(uncertainty=Full()), VARIANCE
    except ValueError:  # outputs that mix latent functions have draws only
        e, limit = paths.explain(uncertainty=Samples(STATED, seed=seed)), SIGMAS * (2 / STATED) ** 0.5
    total, size = _variance_of_sum(e)
    expected = torch.stack([variance_of_change(host, x, x0) for x, x0 in zip(paths.x, paths.x0, strict=True)])
    relative = (total - expected).abs() / torch.maximum(size, expected).clamp(min=torch.finfo(torch.float64).tiny)
    meaning = "the sum of all covariances against the variance of the host's change (second completeness law)"
    return Check("second completeness", meaning, float(relative.max()), limit)


def _variance_of_sum(e: Explanation) -> tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]:
    """sum_kl Cov(IG_k, IG_l), and sum_kl |Cov(IG_k, IG_l)|, from covariances or from joint draws."""
    if e.covariance is not None:
        covariance = by_output(e.covariance, e)
        return covariance.sum((-2, -1)), covariance.abs().sum((-2, -1))
    assert e.draws is not None
    draws = e.draws if e.output_names is not None else e.draws[:, :, None]
    total = draws.sum(-1).var(1)
    return total, total


def check_draws(host: Host, paths: Paths, features: int, draws: int, seed: int) -> tuple[Check, Check]:
    """Stated deviations and intervals of the largest attributions, against draws of the host's functions."""
    e = paths.explain(uncertainty=Samples(STATED, seed=seed))
    assert e.std is not None
    values, std = by_output(e.values, e), by_output(e.std, e)
    low, high = (by_output(part, e) for part in e.interval(LEVEL))
    generator = torch.Generator().manual_seed(seed)
    deviations, coverages, kurtosis = [], [], []
    for i, (x, x0) in enumerate(zip(paths.x, paths.x0, strict=True)):
        j = int(std[i].amax(-1).argmax())
        for k in values[i, j].abs().topk(min(features, values.shape[-1])).indices.tolist():
            if std[i, j, k] == 0:
                continue
            drawn = draws_of_attribution(host, x, x0, k, draws, generator)[:, j]
            centred = drawn - drawn.mean()
            deviations.append(float(centred.square().mean().sqrt() / std[i, j, k]) - 1)
            kurtosis.append(float(centred.pow(4).mean() / centred.square().mean() ** 2))
            coverages.append(float(((drawn >= low[i, j, k]) & (drawn <= high[i, j, k])).double().mean()) - LEVEL)
    of_deviation = SIGMAS * max(((max(kurtosis, default=3.0) - 1) / (4 * draws)) ** 0.5, 1e-9) + FLOOR
    of_coverage = SIGMAS * (LEVEL * (1 - LEVEL) * (1 / draws + 1 / STATED)) ** 0.5 + FLOOR
    return (
        Check("deviations", "stated standard deviations against draws of the host", _largest(deviations), of_deviation),
        Check(
            "coverage",
            f"stated {100 * LEVEL:g} % intervals against draws of the host",
            _largest(coverages),
            of_coverage,
        ),
    )


def _largest(differences: list[float]) -> float:
    return max(map(abs, differences), default=0.0)


def _ratio(name: str, meaning: str, worst: Tensor, allowed: Tensor, e: Explanation) -> Check:
    """The row and output with the largest difference in terms of what is allowed, relative to their unit."""
    at = int((worst / allowed).nan_to_num(nan=torch.inf).argmax())
    unit = sizes(e).flatten()[at]
    return Check(name, meaning, float(worst.flatten()[at] / unit), float(allowed.flatten()[at] / unit))
