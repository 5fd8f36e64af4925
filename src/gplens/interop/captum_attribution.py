"""Captum's `attribute` call, with the exact attributions of a Gaussian process behind it."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np
import torch
from captum.attr import GradientAttribution
from captum.log import log_usage  # pyright: ignore[reportAttributeAccessIssue]
from jaxtyping import Float, Int
from torch import Tensor

from gplens import rules
from gplens.adapters.numbers import as_int
from gplens.baselines import Rows
from gplens.explain import explain
from gplens.explanation import Explanation
from gplens.rules import Rule
from gplens.targets import Target

METHODS: dict[str, type[Any]] = {
    "gausslegendre": rules.GaussLegendre,
    "riemann_right": rules.RiemannRight,
    "riemann_left": rules.RiemannLeft,
    "riemann_middle": rules.RiemannMiddle,
    "riemann_trapezoid": rules.Trapezoid,
}
"""Captum's names of rules. The weights of Captum's trapezoid sum to (n-1)/n, those of gplens to one."""

STEPS = 50
"""Captum's default number of steps."""


@final
class GaussianProcessIntegratedGradients(GradientAttribution):
    """captum.attr.IntegratedGradients for any model that gplens explains; only the line that constructs it changes.

    Args:
        model, likelihood: as in gplens.explain.
        explained: an object of gplens.targets, what the forward pass computes; the expected response if None.
        tolerance: as in gplens.explain, for the adaptive rule, which is used if neither n_steps nor method is given.

    Example:
        >>> from gplens.captum import GaussianProcessIntegratedGradients
        >>> ig = GaussianProcessIntegratedGradients(gp, gplens.links.Identity())
        >>> ig.attribute(X[3:].double(), baselines=0.0).shape
        torch.Size([2, 2])
    """

    def __init__(
        self, model: Any, likelihood: Any = None, *, explained: Target | None = None, tolerance: float | None = None
    ) -> None:
        self.model, self.likelihood, self.explained, self.tolerance = model, likelihood, explained, tolerance
        super().__init__(self.predict)

    def predict(self, *inputs: Tensor) -> Tensor:
        """The forward function of Captum's metrics: the prediction, (b,) or (b, outputs). It has no autograd graph."""
        X = _joined(inputs)
        return self._explain(X, X, rules.GaussLegendre(1)).prediction.to(inputs[0])

    @log_usage()  # as Captum's own methods: NoiseTunnel calls attribute.__wrapped__
    def attribute(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        inputs: Tensor | tuple[Tensor, ...],
        baselines: Any = None,
        target: Any = None,
        additional_forward_args: Any = None,
        n_steps: int | None = None,
        method: str | None = None,
        internal_batch_size: int | None = None,
        return_convergence_delta: bool = False,
    ) -> Any:
        """Attributions with the shape, tuple, dtype and device of the inputs; with a delta for each input if asked for.

        Args:
            inputs: a tensor, or a tuple of them whose columns the model takes side by side; everything but the first
                axis is flattened for the model, and attributions come back in the shape of the inputs.
            baselines: zeros if None, as in Captum; a number, a tensor of one row or of a row for each input; a tuple of
                these for a tuple of inputs.
            target: the output to explain: a number for all inputs, or a list or tensor with one for each.
            additional_forward_args: None: a Gaussian process takes inputs alone.
            n_steps, method: Captum's fixed rules; if both are None the adaptive rule of gplens, which is at least as
                exact.
            internal_batch_size: accepted and ignored, since memory is bounded anyway.
            return_convergence_delta: whether to add sum(attributions) - (F(inputs) - F(baselines)).
        """
        if additional_forward_args is not None:
            raise ValueError("expected additional_forward_args=None, got a value. Pass all features as inputs.")
        if internal_batch_size is not None and internal_batch_size < 1:
            raise ValueError(f"expected internal_batch_size to be None or >= 1, got {internal_batch_size}.")
        parts = inputs if isinstance(inputs, tuple) else (inputs,)
        X, baseline_rows = _joined(parts), _joined(_baselines(parts, baselines))
        explanation = self._explain(X, baseline_rows, _rule(n_steps, method))
        values, gap = _selected(explanation, target)
        sizes = [part[0].numel() for part in parts]
        pairs = zip(values.split(sizes, 1), parts, strict=True)
        by_part = tuple(columns.reshape(part.shape).to(part) for columns, part in pairs)
        attributions = by_part if isinstance(inputs, tuple) else by_part[0]
        return (attributions, gap.to(parts[0])) if return_convergence_delta else attributions

    def has_convergence_delta(self) -> bool:
        """Captum reads this before it computes a delta."""
        return True

    @property
    def multiplies_by_inputs(self) -> bool:
        """Attributions are multiplied by inputs - baselines."""
        return True

    def _explain(self, X: Float[Tensor, "b d"], baseline: Float[Tensor, "b d"], rule: Rule | None) -> Explanation:
        return explain(
            self.model,
            X,
            baseline=Rows(baseline),
            likelihood=self.likelihood,
            target=self.explained,
            rule=rule,
            tolerance=self.tolerance,
        )


def _rule(n_steps: int | None, method: str | None) -> Rule | None:
    if n_steps is None and method is None:
        return None
    kind = METHODS.get(method or "gausslegendre")
    if kind is None:
        raise ValueError(f"expected method to be None or one of {', '.join(METHODS)}, got {method!r}.")
    return kind(STEPS if n_steps is None else n_steps)


def _joined(parts: tuple[Tensor, ...]) -> Float[Tensor, "b d"]:
    """The columns of all tensors side by side, in float64."""
    rows = {len(part) if part.ndim else 0 for part in parts}
    if len(rows) != 1 or any(part.ndim < 2 for part in parts):
        shapes = [tuple(part.shape) for part in parts]
        raise ValueError(f"expected inputs of shape (b, ...) with the same b, got shapes {shapes}.")
    return torch.cat([part.detach().to("cpu", torch.float64).flatten(1) for part in parts], dim=1)


def _baselines(parts: tuple[Tensor, ...], baselines: Any) -> tuple[Tensor, ...]:
    """Baselines in the forms that Captum accepts, as tensors with the shapes of the inputs."""
    given = baselines if isinstance(baselines, tuple) else (baselines,) * (1 if baselines is not None else len(parts))
    if len(given) != len(parts):
        raise ValueError(f"expected {len(parts)} baselines, one for each tensor of inputs, got {len(given)}.")
    return tuple(_baseline(part, baseline) for part, baseline in zip(parts, given, strict=True))


def _baseline(part: Tensor, baseline: Any) -> Tensor:
    if baseline is None or isinstance(baseline, int | float):
        return torch.full_like(part, 0.0 if baseline is None else baseline, dtype=torch.float64)
    if not isinstance(baseline, Tensor) or baseline.shape[1:] != part.shape[1:] or len(baseline) not in (1, len(part)):
        got = tuple(baseline.shape) if isinstance(baseline, Tensor) else repr(baseline)
        shape = tuple(part.shape)
        raise ValueError(f"expected a baseline that is a number, of shape {shape}, or one row of it, got {got}.")
    return baseline.expand(part.shape)


def _selected(explanation: Explanation, target: Any) -> tuple[Float[Tensor, "b d"], Float[Tensor, " b"]]:
    """The values and the gap of the requested output, which may differ from input to input."""
    if explanation.output_names is None:
        if target is not None:
            raise ValueError(f"expected target=None for a model with a single output, got {target!r}.")
        return explanation.values, explanation.gap
    outputs, rows = _indices(target, len(explanation), len(explanation.output_names)), torch.arange(len(explanation))
    return explanation.values[rows, outputs], explanation.gap[rows, outputs]


def _indices(target: Any, rows: int, outputs: int) -> Int[Tensor, " b"]:
    given = target.flatten() if isinstance(target, Tensor | np.ndarray) else target
    each = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    each = [output[0] if isinstance(output, tuple) and len(output) == 1 else output for output in each]  # (2,) as 2
    numbers = [number for output in each if (number := as_int(output)) is not None]
    if len(each) not in (1, rows) or len(numbers) < len(each) or not all(0 <= number < outputs for number in numbers):
        raise ValueError(
            f"expected a target below {outputs}, the number of outputs, or a list of {rows}, one for each input, got "
            f"{target!r}."
        )
    return torch.tensor(numbers).expand(rows)
