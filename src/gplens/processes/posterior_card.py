"""A posterior as a table in HTML: its kernel, its support points, and their range in lengthscales."""

from gplens.display.card import Bars, Entry, card
from gplens.display.wording import elided, number
from gplens.kernels import Scale
from gplens.kernels.stationary import Stationary
from gplens.means import ConstantMean
from gplens.processes.posterior import Posterior

FEATURES = 10
"""The number of features that are shown."""


def describe_html(posterior: Posterior) -> str:
    """The table that a notebook shows for a posterior."""
    p, (n, d) = posterior, posterior.Z.shape
    title = f"Posterior: {_count(p.latents, 'latent function')} of {_count(d, 'feature')}, {_count(n, 'support point')}"
    return card(title, facts(p), relevance(p, [f"feature {k}" for k in range(d)]))


def facts(posterior: Posterior) -> list[tuple[str, str]]:
    """Names and values of the parameters of the posterior, apart from its support points."""
    p, parts = posterior, dict.fromkeys(type(part).__name__ for part in posterior.kernel.parts())
    low, high = (number(float(end) ** 0.5) for end in p.kernel.diagonal(p.Z).aminmax())
    means = dict.fromkeys(number(mean.value) if isinstance(mean, ConstantMean) else repr(mean) for mean in p.means)
    parameters = {"kernel": ", ".join(parts), "prior deviation": low if low == high else f"{low} to {high}"}
    parameters["prior mean"] = elided(", ".join(means), 60)
    if p.jitter:
        parameters["jitter of the host"] = number(p.jitter)
    return list(parameters.items())


def relevance(posterior: Posterior, names: list[str]) -> list[Bars]:
    """The range of the support points in lengthscales, feature by feature; 0 for a feature that the kernel ignores.

    Empty for a kernel that has no lengthscale for each feature.
    """
    kernel, Z = posterior.kernel, posterior.Z
    while isinstance(kernel, Scale):
        kernel = kernel.kernel
    if not isinstance(kernel, Stationary) or kernel.lengthscale.numel() not in (1, Z.shape[1]):
        return []
    scale = kernel.lengthscale.expand(Z.shape[1])
    spans = (Z.amax(0) - Z.amin(0)) / scale
    order: list[int] = spans.argsort(descending=True, stable=True).tolist()
    entries = [
        Entry(elided(names[k], 40), number(float(scale[k])), number(float(spans[k])), float(spans[k]))
        for k in order[:FEATURES]
    ]
    rest = f"{_count(len(order) - FEATURES, 'other feature')}" if len(order) > FEATURES else ""
    return [
        Bars("Lengthscale of each feature, and how many of them the support points span:", entries, rest, signed=False)
    ]


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
