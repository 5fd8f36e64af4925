"""The function that was explained, evaluated where a plot needs it: along the path, and with features replaced."""

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import Reading, read, with_likelihood
from gplens.display.marks import Attributions, of_output, output_name
from gplens.expectations.expectation import Expectation
from gplens.expectations.softmax.classes import Softmax
from gplens.expectations.softmax.sampled import sobol_normals
from gplens.lines.line import Line
from gplens.processes.functions import Functions
from gplens.processes.process import Process
from gplens.targets import Response, Target, bind_target

SAME, SAME_SAMPLED = 1e-6, 3e-2
"""The largest accepted difference from the explained predictions, relative to the largest of them; and the same for an
expectation that is sampled."""
COMPARED = 8
"""The most inputs, and as many baselines, at which predictions are compared."""
QUANTILES = 1001
"""The number of quantiles of a latent function from which a band is computed."""
DRAWS = 2048
"""The number of quasi-random values of several latent functions from which a band is computed."""
BLOCK = 2000
"""The most rows that are evaluated at once."""


@final
@dataclass(frozen=True, eq=False)
class Explained:
    """T(x) = psi(m(x), v(x)) of one output, or the difference of two."""

    process: Process
    expectation: Expectation
    outputs: tuple[int, ...]
    """The output, or two of which the second is subtracted."""

    @staticmethod
    def of(
        e: Attributions,
        model: Any,
        j: int | None,
        *,
        likelihood: Any = None,
        target: Target | None = None,
        contrast: tuple[str, str] | None = None,
    ) -> "Explained":
        """The function behind output j of an explanation, after a check that it predicts the same.

        Raises:
            ValueError: if the model, its likelihood, the target or the contrast differs from the explained one.
        """
        if not isinstance(model, Reading):
            reading = read(model, likelihood)
        else:
            reading = model if likelihood is None else with_likelihood(model, likelihood)
        target = Response() if target is None else target
        process, expectation = bind_target(target, reading.likelihood, reading.process, reading.draws, reading.model)
        names = expectation.names(process.latents)
        given = None if reading.likelihood is None else reading.likelihood.outputs
        names = given if given is not None and len(given) == len(names) else names
        requested = contrast or (output_name(e, j),)
        outputs = tuple(0 if name is None else _position(names, name) for name in requested)
        explained = Explained(*expectation.narrowed(process, outputs))
        explained._check(e, j)
        return explained

    @torch.inference_mode(False)
    @torch.no_grad()
    def __call__(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """T at points, in blocks of rows."""
        return torch.cat([self._along(Line.at(rows))[:, 0] for rows in X.split(BLOCK)])

    @torch.inference_mode(False)
    @torch.no_grad()
    def along(self, x0: Float[Tensor, " d"], x: Float[Tensor, " d"], t: Float[Tensor, " q"], level: float) -> "Course":
        """T, its band and the support at nodes of the path from x0 to x."""
        line = Line(x0[None], (x - x0)[None], t[None])
        support, values = self.process.support_along(line), self._values(line)
        band = None
        if values is not None:
            tail = (1 - level) / 2
            band = torch.quantile(values, tail, dim=0), torch.quantile(values, 1 - tail, dim=0)
        return Course(t, self._along(line)[0], band, None if support is None else support[0].amin(0))

    def _along(self, line: Line) -> Float[Tensor, "b q"]:
        value = self.expectation.jet(self.process.along(line), self.outputs).value
        return value[:, 0] if len(self.outputs) == 1 else value[:, 0] - value[:, 1]

    def _values(self, line: Line) -> Float[Tensor, "s q"] | None:
        """Values of the random T(f) at each node; None if T is a function of the distribution of f."""
        if isinstance(self.process, Functions) and self.process.variance is None:
            return None
        marginals, link = self.process.along(line), self.expectation.link_of(self.outputs[0])
        m, sd = marginals.m[0], marginals.v[0].sqrt()
        if link is not None and len(self.outputs) == 1:
            latent = self.outputs[0]
            steps = (torch.arange(QUANTILES, dtype=m.dtype) + 0.5) / QUANTILES
            return link(m[latent] + sd[latent] * torch.special.ndtri(steps)[:, None])
        if isinstance(self.expectation, Softmax):
            S = torch.softmax(m + sd * sobol_normals(DRAWS, len(m), seed=0)[:, :, None], dim=1)
            return S[:, self.outputs[0]] - (S[:, self.outputs[1]] if len(self.outputs) == 2 else 0)
        return None

    def _check(self, e: Attributions, j: int | None) -> None:
        """Refuse a function whose predictions differ from those of the explanation."""
        if e.inputs.isnan().any() or e.inputs.shape[1] != self.process.features:
            raise ValueError(
                f"expected an explanation of the {self.process.features} features of the model, got one of "
                f"{list(e.feature_names)}; pass an explanation without groups, of columns that are not encoded."
            )
        ends = (
            [(e.inputs, e.prediction)]
            if e.background
            else [(e.inputs, e.prediction), (e.baseline, e.baseline_prediction)]
        )
        points, held = (torch.cat([part[:COMPARED] for part in parts]) for parts in zip(*ends, strict=True))
        ours, theirs = self(points), of_output(held, j)
        limit = theirs.abs().max() * (SAME if self.expectation.replicates is None else SAME_SAMPLED)
        if not bool(((ours - theirs).abs() <= limit).all()):
            worst = int((ours - theirs).abs().argmax())
            raise ValueError(
                f"expected a model that predicts what was explained, {float(theirs[worst]):.6g}, got "
                f"{float(ours[worst]):.6g}; pass the same model, likelihood= and target=, and contrast=(a, b) for a "
                "contrast."
            )


@final
@dataclass(frozen=True, eq=False)
class Course:
    """A target along a path."""

    t: Float[Tensor, " q"]
    value: Float[Tensor, " q"]
    band: tuple[Float[Tensor, " q"], Float[Tensor, " q"]] | None
    """Ends of the central interval of T(f); None for a target that is a function of the distribution of f."""
    support: Float[Tensor, " q"] | None
    """1 - v/k, the smallest of the latent functions involved; None if the prior variance is not known."""


def _position(names: tuple[str, ...], name: str) -> int:
    if name not in names:
        raise ValueError(f"expected a model with the output {name!r}, got one with {list(names)}.")
    return names.index(name)
