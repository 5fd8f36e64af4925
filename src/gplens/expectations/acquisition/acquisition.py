"""An acquisition function as an expectation: from latent functions to outcomes, psi, and draws of hyper-parameters."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.expectations.acquisition.criterion import Criterion, Outcomes
from gplens.expectations.acquisition.outcome_moments import OutcomeMoments
from gplens.expectations.expectation import Channel, Elementwise, Expectation, Jet, Partials
from gplens.lines.line import Line
from gplens.processes.crossings import Levels
from gplens.processes.cut import Cut
from gplens.processes.process import Marginals, Process

NO_ERROR_BARS = (
    "expected no uncertainty= for {}, got one: an acquisition function is a number of the posterior, which has no "
    "posterior distribution of its own. Explain the mean of its model, with the standard deviation of every "
    "attribution: gplens.explain(acquisition.model, X, baseline=..., uncertainty=True)."
)


@final
@dataclass(frozen=True, eq=False)
class Acquisition(Expectation):
    """a(x) = psi(M, V) of the moments of independent outcomes, averaged over draws of hyper-parameters  (11.2)."""

    name: str
    """The name of the acquisition function in the host library."""
    criterion: Criterion
    latents: Int[Tensor, "o s"]
    """The latent function of each outcome, for each draw of hyper-parameters."""
    moments: OutcomeMoments
    """From latent functions to outcomes."""

    def __repr__(self) -> str:
        return self.name

    @property
    def needs_variance(self) -> bool:
        return self.criterion.needs_variance or self.moments.needs_variance

    @property
    def kinked(self) -> bool:
        return bool(self.criterion.thresholds)

    def count(self, latents: int) -> int:
        return 1

    def names(self, latents: int) -> tuple[str, ...]:
        return (self.name,)

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """psi_s of every draw s by the chain rule; psi = 1/S sum_s psi_s, or log 1/S sum_s e^psi_s  (11.8)."""
        m = self._of_outcomes(marginals.m)
        v = self._of_outcomes(marginals.v) if self.needs_variance else torch.zeros_like(m)
        moments = self.moments.forward(m, v)
        value, by_m, by_v = self.criterion.partials(moments.m, moments.v)
        by_m, by_v = self.moments.backward(moments, by_m, by_v)
        value, share = _over_draws(value, logarithmic=self.criterion.logarithmic)
        by_m, by_v = (None if part is None else self._of_latents(share * part, marginals.m) for part in (by_m, by_v))
        assert by_m is not None
        return Jet(value[:, None], by_m, by_v)

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"] | None:
        """sqrt(v), since psi is a function of m/sqrt(v) and sqrt(v); not below the root of the smallest variance."""
        return marginals.v.clamp(min=self.moments.smallest).sqrt() if self.needs_variance else None

    def narrowed(self, process: Process, outputs: tuple[int, ...]) -> tuple[Process, Expectation, tuple[int, ...]]:
        """Paths are cut where a sample crosses a kink of psi, and blocks leave room for the samples  (11.9)."""
        thresholds = self.criterion.thresholds * self.latents.shape[1]
        if not thresholds:
            return process, self, outputs

        def functions(x: Float[Tensor, "k d"]) -> Float[Tensor, "k r"]:
            marginals = process.along(Line.at(x))
            m, v = (self._of_outcomes(part) for part in (marginals.m, marginals.v))
            moments = self.moments.forward(m, v)
            crossings = self.criterion.crossings(moments.m, moments.v)
            assert crossings is not None
            return crossings[..., 0].permute(1, 2, 0).flatten(1)  # draw by draw

        held = self.criterion.samples * self.latents.shape[1]
        return Cut.at_levels(process, Levels(functions, thresholds), held), self, outputs

    def channels(self, latents: int) -> tuple[Channel, ...]:
        """The mean and the variance of each outcome, and one channel for each constraint."""
        limits = self.criterion.constraints
        free = [i for i in range(len(self.latents)) if i not in limits]
        of = [tuple(latents) for latents in self.latents.tolist()]
        channels = [
            Channel(kind if len(free) == 1 else f"{kind} of output {i}", *pair)
            for i in free
            for kind, pair in (("mean", (of[i], ())), ("variance", ((), of[i])))
        ]
        return (*channels, *(Channel(f"constraint on output {i}", of[i], of[i]) for i in limits))

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        raise ValueError(NO_ERROR_BARS.format(self.name))

    def _of_outcomes(self, tensor: Float[Tensor, "b c q"]) -> Outcomes:
        """(o, b, s, q)."""
        return tensor[:, self.latents].movedim(1, 0)

    def _of_latents(self, partials: Outcomes, like: Float[Tensor, "b c q"]) -> Float[Tensor, "b 1 c q"]:
        flat = partials.movedim(0, 1).flatten(1, 2)
        return torch.zeros_like(like).index_add_(1, self.latents.flatten(), flat)[:, None]


def _over_draws(
    value: Float[Tensor, "b s q"], *, logarithmic: bool
) -> tuple[Float[Tensor, "b q"], Float[Tensor, "b s q"]]:
    """The average over draws, and its derivative by the value of each draw."""
    draws = value.new_tensor(float(value.shape[1]))
    if logarithmic:
        return torch.logsumexp(value, 1) - draws.log(), torch.softmax(value, 1)
    return value.mean(1), (1 / draws).expand_as(value)


@final
@dataclass(frozen=True)
class Opaque(Elementwise):
    """psi = m, where m(x) is the value of an acquisition function of which only values and gradients are known."""

    name: str

    @property
    def default_tolerance(self) -> float:
        """Looser, since a sum over samples has a kink for each, and logarithms of tiny improvements have few digits."""
        return 1e-4

    def __repr__(self) -> str:
        return self.name

    def select(self, outputs: tuple[int, ...]) -> "Opaque":
        return self

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        m = marginals.m[:, list(outputs)]
        return m, torch.ones_like(m), None

    def channels(self, latents: int) -> tuple[Channel, ...]:
        return ()

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        raise ValueError(NO_ERROR_BARS.format(self.name))
