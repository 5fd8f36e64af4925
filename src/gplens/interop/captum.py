"""Captum: its `attribute` call, with the exact attributions of a Gaussian process behind it."""

from operator import index
from typing import Any, SupportsIndex, final

import torch
from captum.attr import GradientAttribution
from jaxtyping import Float, Int
from torch import Tensor

from gplens import rules
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
"""Captum's names of rules. Its trapezoid has weights that sum to (n-1)/n; ours sum to one."""

STEPS = 50
"""Captum's default number of steps."""


@final
class GaussianProcessIntegratedGradients(GradientAttribution):
    """captum.attr.IntegratedGradients for any model that gplens explains; a user changes the line that constructs it.

    Args:
        model, likelihood: as in gplens.explain.
        explained: an object of gplens.targets: what the forward pass is; the expected response if None.
        tolerance: as in gplens.explain, for the adaptive rule: taken where neither n_steps nor method is given.
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
        """Attributions of the shape, tuple, dtype and device of the inputs; with a delta for each input if asked for.

        Args:
            inputs: a tensor, or a tuple of them whose columns the model takes side by side; everything but the first
                axis is flattened for the model, and attributions come back in the shape of the inputs.
            baselines: zeros if None, as in Captum; a number, a tensor of one row or of a row for each input; a tuple of
                these for a tuple of inputs.
            target: the output to explain: a number for all inputs, or a list or tensor with one for each.
            additional_forward_args: None: a Gaussian process takes inputs alone.
            n_steps, method: Captum's fixed rules; where both are left out the adaptive rule of gplens, which is at
                least as exact.
            internal_batch_size: accepted, and not needed: memory is bounded anyway, and the result is the same.
            return_convergence_delta: whether to add sum(attributions) - (F(inputs) - F(baselines)).
        """
        if additional_forward_args is not None:
            raise ValueError("A Gaussian process takes no additional_forward_args; give all features as inputs.")
        if internal_batch_size is not None and internal_batch_size < 1:
            raise ValueError(f"internal_batch_size={internal_batch_size}: None or a positive number was wanted.")
        parts = inputs if isinstance(inputs, tuple) else (inputs,)
        X, starts = _joined(parts), _joined(_baselines(parts, baselines))
        found = self._explain(X, starts, _rule(n_steps, method))
        values, gap = _selected(found, target)
        sizes = [part[0].numel() for part in parts]
        each = tuple(own.reshape(part.shape).to(part) for own, part in zip(values.split(sizes, 1), parts, strict=True))
        attributions = each if isinstance(inputs, tuple) else each[0]
        return (attributions, gap.to(parts[0])) if return_convergence_delta else attributions

    def has_convergence_delta(self) -> bool:
        """Captum asks before it computes one."""
        return True

    @property
    def multiplies_by_inputs(self) -> bool:
        """Attributions are those of inputs - baselines, not of a unit step."""
        return True

    def _explain(self, X: Float[Tensor, "b d"], starts: Float[Tensor, "b d"], rule: Rule | None) -> Explanation:
        return explain(
            self.model,
            X,
            baseline=starts,
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
        raise ValueError(f"method={method!r}: one of {', '.join(METHODS)} was wanted, or none for the adaptive rule.")
    return kind(STEPS if n_steps is None else n_steps)


def _joined(parts: tuple[Tensor, ...]) -> Float[Tensor, "b d"]:
    """The columns of all tensors side by side, in float64."""
    rows = {len(part) if part.ndim else 0 for part in parts}
    if len(rows) != 1 or any(part.ndim < 2 for part in parts):
        shapes = [tuple(part.shape) for part in parts]
        raise ValueError(f"inputs have shapes {shapes}; wanted was a row for each example in all of them: (b, ...).")
    return torch.cat([part.detach().to("cpu", torch.float64).flatten(1) for part in parts], dim=1)


def _baselines(parts: tuple[Tensor, ...], baselines: Any) -> tuple[Tensor, ...]:
    """A tensor of the shape of each input, from what Captum takes for baselines."""
    given = baselines if isinstance(baselines, tuple) else (baselines,) * (1 if baselines is not None else len(parts))
    if len(given) != len(parts):
        raise ValueError(f"Got {len(given)} baselines for {len(parts)} tensors of inputs; one for each was wanted.")
    return tuple(_baseline(part, own) for part, own in zip(parts, given, strict=True))


def _baseline(part: Tensor, own: Any) -> Tensor:
    if own is None or isinstance(own, int | float):
        return torch.full_like(part, 0.0 if own is None else own, dtype=torch.float64)
    if not isinstance(own, Tensor) or own.shape[1:] != part.shape[1:] or len(own) not in (1, len(part)):
        got = tuple(own.shape) if isinstance(own, Tensor) else repr(own)
        wanted = f"a number, a tensor of shape {tuple(part.shape)}, or one row of it was wanted"
        raise ValueError(f"The baseline is {got}; {wanted}.")
    return own.expand(part.shape)


def _selected(found: Explanation, target: Any) -> tuple[Float[Tensor, "b d"], Float[Tensor, " b"]]:
    """The values and the gap of the output asked for, which may differ from input to input."""
    if found.output_names is None:
        if target is not None:
            raise ValueError(f"target={target!r}: the model has a single output, so that None was wanted.")
        return found.values, found.gap
    outputs, rows = _indices(target, len(found), len(found.output_names)), torch.arange(len(found))
    return found.values[rows, outputs], found.gap[rows, outputs]


def _indices(target: Any, rows: int, outputs: int) -> Int[Tensor, " b"]:
    given = target.flatten().tolist() if isinstance(target, Tensor) else target
    each = [given] if isinstance(given, SupportsIndex) else list(given or ())
    each = [one[0] if isinstance(one, tuple) and len(one) == 1 else one for one in each]  # as for outputs of more axes
    fits = len(each) in (1, rows) and all(isinstance(one, SupportsIndex) and 0 <= index(one) < outputs for one in each)
    if not fits:
        raise ValueError(
            f"target={target!r}: the model has {outputs} outputs, so that a number below {outputs} was wanted, or a "
            f"list of {rows}, one for each input."
        )
    return torch.tensor([index(one) for one in each]).expand(rows)
