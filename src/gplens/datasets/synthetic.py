"""The paper's synthetic data (Appendix E.1):  y ~ p(y | H(W sin 2x)),  x ~ U(-2, 2)^5,  vec W ~ N(0, I/5)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.datasets.dataset import Dataset

FEATURES = 5
CLASSES = 5

Draw = Callable[[Float[Tensor, "b c"], torch.Generator], Float[Tensor, " b"]]


def _normal(f: Float[Tensor, "b c"], generator: torch.Generator) -> Float[Tensor, " b"]:
    return f[:, 0] * torch.randn(len(f), generator=generator, dtype=f.dtype)


def _counts(f: Float[Tensor, "b c"], generator: torch.Generator) -> Float[Tensor, " b"]:
    return torch.poisson(f[:, 0].exp(), generator=generator)


def _probit(f: Float[Tensor, "b c"], generator: torch.Generator) -> Float[Tensor, " b"]:
    return torch.bernoulli(torch.special.ndtr(f[:, 0]), generator=generator)


def _logistic(f: Float[Tensor, "b c"], generator: torch.Generator) -> Float[Tensor, " b"]:
    return torch.bernoulli(torch.sigmoid(f[:, 0]), generator=generator)


def _classes(f: Float[Tensor, "b c"], generator: torch.Generator) -> Float[Tensor, " b"]:
    return torch.multinomial(torch.softmax(f, dim=1), 1, generator=generator)[:, 0].to(f.dtype)


DRAWS: dict[str, Draw] = {
    "square": _normal,
    "exp": _counts,
    "probit": _probit,
    "sigmoid": _logistic,
    "softmax": _classes,
}
"""y given f by inverse link: N(0, f^2), Poisson(exp f), Bernoulli(Phi(f)), Bernoulli(s(f)), Categorical(S(f))."""


def synthetic(link: str, *, rows: int = 500, seed: int = 0) -> Dataset:
    """A sample for the link "square", "exp", "probit", "sigmoid" or "softmax", with the latent values behind it.

    Args:
        link: the link of the sample.
        rows: how many.
        seed: which sample.

    Returns:
        A Dataset; the latent values are in `latent`.

    Raises:
        ValueError: the link is none of these.

    Example:
        >>> gplens.datasets.synthetic("exp", rows=10).X.shape
        torch.Size([10, 5])
    """
    if link not in DRAWS:
        raise ValueError(f"link must be one of {sorted(DRAWS)}, got link={link!r}.")
    generator = torch.Generator().manual_seed(seed)
    outputs = CLASSES if link == "softmax" else 1
    W = torch.randn(outputs, FEATURES, generator=generator, dtype=torch.float64) / 5**0.5
    X = 4 * torch.rand(rows, FEATURES, generator=generator, dtype=torch.float64) - 2
    f = torch.sin(2 * X) @ W.T
    names = tuple(f"x{i}" for i in range(FEATURES))
    description = f"Appendix E.1 of the paper, link {link}, seed {seed}."
    return Dataset(X, DRAWS[link](f, generator), names, description, f)
