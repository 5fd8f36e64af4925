"""The question of a call: the model compared with the live one, the target and its outputs, error bars, channels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.adapters.numbers import as_float
from gplens.adapters.reading import Reading, check_columns, read, with_likelihood
from gplens.calls.given_table import Given
from gplens.expectations.expectation import Expectation
from gplens.explanation.channels_of_paths import check_channels
from gplens.explanation.selection import output_indices
from gplens.likelihood import Likelihood
from gplens.lines.line import Line
from gplens.lines.switches import Switches
from gplens.paths.category_paths import switches_of, switching
from gplens.paths.integrand import Question
from gplens.processes.process import Marginals, Process
from gplens.targets import Response, Target, bind_target
from gplens.uncertainty.across_rows import check_across_rows, each_row_alone
from gplens.uncertainty.asked_spreads import check_asked
from gplens.uncertainty.default_request import automatic_request
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.share_coordinates import ShareCoordinates

CHECKED = 64
"""The most inputs, and as many baselines, at which a model that was just read is compared with the host."""
CHECKED_AGAIN = 8
"""The same for a Reading, which was compared when it was read."""
FINEST = 1e-13
"""The smallest tolerance: below it, float64 has no more digits."""


@final
@dataclass(frozen=True, eq=False)
class LiveModel:
    """A model that equals the live one at points of this call."""

    reading: Reading
    switches: Switches | None
    """The blocks of inputs that are categories; None if all inputs are numbers."""
    compared_at: Marginals | None
    """The marginals at inputs, baselines and points half-way; None if some columns have no half-way."""

    @property
    def likelihood(self) -> Likelihood | None:
        """The given likelihood, or the one that the model carries."""
        return self.reading.likelihood

    @staticmethod
    def compared(model: Any, likelihood: Any, given: Given) -> "LiveModel":
        """Read the model, unless it is a Reading, and compare it with the live one.

        Points half-way between inputs and baselines have the categories and rounded numbers of their inputs.
        """
        X, baselines = given.X, given.baselines
        most, every_baseline = CHECKED_AGAIN if isinstance(model, Reading) else CHECKED, baselines.flatten(0, 1)
        rows = _telling(X, most)
        x = X if len(X) == 1 else X[rows]
        if len(every_baseline) > 1:
            every_baseline = every_baseline[_telling(every_baseline, most)]
        points = torch.cat([x, every_baseline])
        if isinstance(model, Reading):
            reading = model if likelihood is None else with_likelihood(model, likelihood)
        else:
            reading = read(model, likelihood, points=points)
        check_columns(reading.process.features, X)
        blocks = [*reading.process.categories, *given.declared]
        rounded = [(column,) for column in reading.process.rounded]
        held = switches_of([*blocks, *rounded]) if blocks or rounded else None
        starts = (baselines[:, 0] if len(baselines) == 1 else baselines[rows, 0]).expand_as(x)
        half_way = (x + (starts if held is None else held.held(starts, x))) / 2
        points = torch.cat([points, half_way])
        at = reading.process.along(Line.at(points))
        try:
            reading = reading.compared(points, at)
        except (ValueError, ArithmeticError) as cause:
            if not isinstance(model, Reading):
                raise
            raise ValueError(
                f"{cause} If the model has changed since it was read, call gplens.read(model) again."
            ) from cause
        given.table.check_columns(f"the {reading.model}", reading.columns)
        return LiveModel(reading, switches_of(blocks) if blocks else None, at if held is None else None)


@final
@dataclass(frozen=True, eq=False)
class Posed:
    """The question of a call. Whatever cannot be computed is refused when this object is created."""

    question: Question
    output_names: tuple[str, ...] | None
    """Names of the outputs; None if there is only one."""
    channels: bool
    request: Uncertainty | None
    """The error bars of each input alone."""
    joint: Samples | None
    """Draws that are joint over the inputs, if requested."""
    sets: Sequence[Sequence[int]] | None
    """Inputs whose attributions are added up before their spread is computed."""

    @property
    def shares(self) -> ShareCoordinates:
        """The question in coordinates in which paths that change categories are straight, if there are any."""
        return ShareCoordinates.of(self.question, self.sets)

    @staticmethod
    def of(
        live: LiveModel,
        given: Given,
        target: Target,
        outputs: Any,
        tolerance: Any,
        uncertainty: Uncertainty | bool | None,
        channels: bool | None,
    ) -> "Posed":
        """Bind the target to the model, and check the user's `outputs` and `tolerance`.

        Raises:
            ValueError, TypeError: a part of the question has no answer.
        """
        reading, likelihood = live.reading, live.likelihood
        _check_target(reading, target)
        process, expectation = bind_target(target, likelihood, reading.process, reading.draws, reading.model)
        names = _output_names(likelihood, expectation, process.latents)
        question, output_names = _question(process, expectation, names, outputs, tolerance)
        if given.arcs is not None:
            question = replace(question, process=given.arcs.process(question.process))
        if live.switches is not None:
            question = switching(question, live.switches, *given.ends, given.inputs)
        if channels is None:
            channels = reading.acquisition is not None and reading.remark is None
        if channels:
            check_channels(question)
        sets, baselines = given.sets, given.baselines.shape[1]
        if question.switches is not None and given.grouped is not None and sets is None:
            sets = list(given.grouped.values())
        if uncertainty is True:
            uncertainty = automatic_request(question, len(given.names), baselines)
        request = uncertainty or None
        if request is not None:
            request = request.for_groups() if given.groups and sets is None else request.plain()
        joint = request if isinstance(request, Samples) and request.across_rows else None
        if joint is not None:
            check_across_rows(ShareCoordinates.of(question, sets).question)
            request = each_row_alone(question, joint)
        if request is not None:
            check_asked(ShareCoordinates.of(question, sets), request, baselines)
        return Posed(question, output_names, channels, request, joint, sets)


def _check_target(reading: Reading, target: Target) -> None:
    if reading.acquisition is not None and not isinstance(target, Response):
        raise ValueError(
            f"expected no target= for {reading.acquisition}, got {target!r}: an acquisition function is what is "
            "explained. Explain its model with that target: gplens.explain(acquisition.model, ...)."
        )


def _output_names(likelihood: Likelihood | None, expectation: Expectation, latents: int) -> tuple[str, ...]:
    """The output names of the likelihood, if it has as many; else the names of the expectation."""
    names = expectation.names(latents)
    given = None if likelihood is None else likelihood.outputs
    return given if given is not None and len(given) == len(names) > 1 else names


def _question(
    process: Process, expectation: Expectation, names: tuple[str, ...], outputs: Any, tolerance: Any
) -> tuple[Question, tuple[str, ...] | None]:
    """The question with as few latent functions as possible, and the output names if there are several."""
    finest = max(FINEST, expectation.default_tolerance) if tolerance is None else as_float(tolerance)
    if finest is None or not FINEST <= finest < 1:
        raise ValueError(f"expected a tolerance in [{FINEST:g}, 1), got {tolerance!r}; leave it out for 1e-6.")
    chosen = tuple(range(len(names))) if outputs is None else output_indices(names, outputs)
    output_names = tuple(names[i] for i in chosen) if len(names) > 1 else None
    process, expectation, chosen = expectation.narrowed(process, chosen)
    return Question(process, expectation.within(finest), chosen, finest), output_names


def _telling(X: Float[Tensor, "b d"], most: int) -> Int[Tensor, " k"]:
    """Some rows, evenly spaced, and those with the smallest and the largest value of each feature."""
    if len(X) == 1:
        return torch.zeros(1, dtype=torch.long)
    spaced = torch.linspace(0, len(X) - 1, min(len(X), most // 4)).long()
    extreme = torch.stack([X.argmin(0), X.argmax(0)], dim=1).flatten()
    return torch.cat([spaced, extreme])[:most].unique()
