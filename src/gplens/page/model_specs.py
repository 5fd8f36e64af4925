"""The posterior, the links and the likelihood of a model in the form of the page (MATH 1, 2, 3)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import Expectation, ExpectedLink
from gplens.likelihood import Likelihood
from gplens.links import Affine, Exp, Identity, Link, Probit, Sigmoid, Softmax, Softplus
from gplens.means import ConstantMean, LinearMean, Mean
from gplens.page.kernel_specs import NotLiveError, kernel_spec
from gplens.page.outcome_specs import outcome_spec
from gplens.page.packing import floats, triangle
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import Transformed

MOST_POINTS = 2500
"""The most support points times the root of the number of matrices: with more, a file has over 30 MB and drags lag."""
LINKS: dict[type[Link], str] = {Identity: "identity", Exp: "exp", Sigmoid: "sigmoid", Softplus: "softplus"}


def live_model(process: Process, response: Expectation, likelihood: Likelihood | None) -> dict[str, Any]:
    """A model as JSON.

    Raises:
        NotLiveError: if the page cannot evaluate the model.
    """
    base, rate, shift = _unscaled(process)
    parts = base.parts if isinstance(base, Stack) else (base,)
    specs = [_part(part) for part in parts]
    points = sum(part["n"] ** 2 * len(part["A"]) for part in specs) ** 0.5
    if points > MOST_POINTS:
        raise NotLiveError(f"it has more support points than a page can carry (about {points:,.0f} of {MOST_POINTS:,})")
    return {
        "parts": specs,
        "rate": rate.tolist(),
        "shift": shift.tolist(),
        "response": _response(response),
        **outcome_spec(likelihood),
    }


def _unscaled(process: Process) -> tuple[Process, Float[Tensor, " d"], Float[Tensor, " d"]]:
    """The process of the scaled inputs x rate + shift, with rate and shift."""
    if not isinstance(process, Transformed):
        rate = torch.ones(process.features, dtype=torch.float64)
        return process, rate, torch.zeros_like(rate)
    W, offset = process.W, process.offset
    if W.shape[0] != W.shape[1] or not torch.equal(W, torch.diag(W.diagonal())):
        raise NotLiveError("its inputs are mixed or selected before the kernel sees them")
    inner, rate, shift = _unscaled(process.base)
    return inner, W.diagonal() * rate, offset * rate + shift


def _part(process: Process) -> dict[str, Any]:
    if not isinstance(process, Posterior):
        raise NotLiveError(f"its latent functions are a {type(process).__name__}, not a kernel with support points")
    n, d = process.Z.shape
    return {
        "n": n,
        "d": d,
        "kernel": kernel_spec(process.kernel, list(range(d))),
        "Z": floats(process.Z.T),
        "beta": floats(process.beta),
        "A": [triangle(A) for A in process.A.matrix],
        "means": [_mean(mean) for mean in process.means],
        "jitter": float(process.jitter),
    }


def _mean(mean: Mean) -> dict[str, Any]:
    if isinstance(mean, ConstantMean):
        return {"constant": float(mean.value), "weight": None}
    if isinstance(mean, LinearMean):
        return {"constant": float(mean.bias), "weight": mean.weight.tolist()}
    raise NotLiveError("its prior mean is a function that only Python can evaluate")


def _response(expectation: Expectation) -> dict[str, Any]:
    if isinstance(expectation, Softmax):
        return {"type": "softmax"}
    if isinstance(expectation, ExpectedLink):
        return {"type": "links", "links": [_link(link) for link in expectation.links]}
    raise NotLiveError(f"the page cannot evaluate its response, {type(expectation).__name__}")


def _link(link: Link) -> dict[str, Any]:
    if isinstance(link, Affine):
        inner = _link(link.link)
        if "scale" in inner:
            raise NotLiveError("its link is scaled twice")
        return {**inner, "scale": link.scale, "offset": link.offset}
    if isinstance(link, Probit):
        return {"type": "probit", "shift": link.shift, "noise": link.noise}
    if type(link) in LINKS:
        return {"type": LINKS[type(link)]}
    raise NotLiveError(f"its link {type(link).__name__} is not one that the page evaluates")
