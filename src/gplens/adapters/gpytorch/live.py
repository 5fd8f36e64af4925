"""What a live torch module was when it was read, and its predictions, compared with those of the process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import is_
from types import MappingProxyType
from typing import Any, final

import torch
from gpytorch import settings
from gpytorch.models import ApproximateGP, exact_prediction_strategies
from jaxtyping import Float
from torch import Tensor
from torch.nn import Module

from gplens.adapters.gpytorch.live_prior import LivePrior, follows_from_prior
from gplens.adapters.gpytorch.modules import (
    CACHES,
    are_of_libraries,
    attributes_of_libraries,
    beside_prior,
    buffers_of,
    check_attributes,
    exactly,
    numbers_of,
    reference,
    undisturbed,
)
from gplens.adapters.reading import check_unchanged, compare_numbers
from gplens.adapters.support_points import SupportSample
from gplens.lines.line import Line
from gplens.processes.process import Marginals, Process

DOUBLE = 1e-6
"""Largest difference to the host in float64, relative to the prior's scale. Observed: 1e-9 with K conditioned 1e10."""
SINGLE = 1e-2
"""The same to the host in float32, whose own solves lose that much with small noise."""
HINT = (
    "The model does something that its kernel, mean and inducing points do not tell (or is float32 and badly "
    "conditioned: call model.double() before it is fitted)."
)
PRIOR = "the host's tensors are those of an earlier comparison; its prior is the one that was read at {} points"
NEAR = 0.5
"""The support 1 - v/k from which on a point is near the data, so that its prediction depends on the kernel."""
STRATEGIES = [kind for kind in vars(exact_prediction_strategies).values() if isinstance(kind, type)]
"""The classes that compute predictions of exact models, which are no modules."""
AT_ONCE = 2e5
"""Products of differences, b n^2 d, up to which GPyTorch evaluates the kernel of n inducing points and the points
compared in less time than it takes to keep track of a matrix that is evaluated later."""


@final
class Snapshot:
    """The learned tensors of a fitted module when it was read, and factorisations that the host has computed since.

    GPyTorch caches its factorisations between predictions. Those of a comparison are kept here, not in the user's
    model, and serve the next comparison as long as all tensors, numbers and classes are the same. The prior
    at the points, and at support points beside them, is computed anew, which reveals any other change. Nothing is kept
    for a kernel that calls the model's own code, or if q(u) or the noise comes from the user's code: such code may
    change, which only a new factorisation reveals.
    """

    def __init__(self, module: Any, process: Process, prior: LivePrior | None = None) -> None:
        self.process, self.keeps, self.given_prior = process, not process.autograd, prior
        with undisturbed(module) as parts:  # models of BoTorch transform their training data in evaluation mode
            self.tensors = {name: tensor.detach().clone() for name, tensor in _named_tensors(module).items()}
            self.in_order = [tensor.detach().clone() for tensor in _tensors(module, parts)]
            self.attributes, self.classes = attributes_of_libraries(module, parts), classes_of(parts)
            self.of_classes = class_attributes(self.classes)
            self.dtypes, self.reference = [tensor.dtype for tensor in self.in_order], reference(module)
        self.numbers: list[Any] = []
        self.caches: list[dict[str, Any]] = []

    @cached_property
    def prior(self) -> LivePrior | None:
        """The prior that was read, in the form in which later comparisons evaluate it."""
        return LivePrior.of(self.process) if self.given_prior is None else self.given_prior

    @contextmanager
    def predicting(self, module: Any) -> Iterator[tuple[Tensor, bool]]:
        """The live module in evaluation mode, refused if its tensors have changed; afterwards it is restored.

        Yields its `reference`, and whether its tensors and numbers are those of the last comparison of predictions.
        """
        with undisturbed(module) as parts:
            tensors = _tensors(module, parts)
            same = [tensor.dtype for tensor in tensors] == [tensor.dtype for tensor in self.in_order]
            same = same and all(map(torch.equal, self.in_order, tensors))
            if not same:
                check_unchanged(type(module).__name__, self.tensors, _named_tensors(module))
            check_attributes(type(module).__name__, self.attributes, attributes_of_libraries(module, parts))
            numbers = numbers_of(parts, self.reference.dtype)
            compared = self.keeps and same and numbers == self.numbers and are_of_libraries(beside_prior(parts))
            of_classes = class_attributes(self.classes)
            compared = (
                compared and len(of_classes) == len(self.of_classes) and all(map(is_, of_classes, self.of_classes))
            )
            if compared:
                for part, caches in zip(parts, self.caches, strict=True):
                    for name, cache in caches.items():
                        part.__dict__[name] = cache.copy() if type(cache) is dict else copy(cache)
            yield self.reference if same else reference(module), compared
            self.numbers, self.of_classes = numbers, of_classes
            self.caches = [{name: part.__dict__[name] for name in CACHES if name in part.__dict__} for part in parts]


def classes_of(parts: list[Module]) -> list[type]:
    """All classes that predictions are computed with."""
    return [*({kind for part in parts for kind in type(part).__mro__} - {object}), *STRATEGIES]


def class_attributes(kinds: list[type]) -> list[Any]:
    """All attributes of classes, one of which may be patched: the values, in loops of C."""
    return list(chain.from_iterable(map(MappingProxyType.values, map(vars, kinds))))


def _training_data(module: Any) -> dict[str, Tensor]:
    """Inputs and targets of an exact model."""
    data = {name: getattr(module, name, None) for name in ("train_inputs", "train_targets")}
    parts = {name: (part,) if isinstance(part, Tensor) else part or () for name, part in data.items()}
    return {f"{name}[{i}]": tensor for name, tensors in parts.items() for i, tensor in enumerate(tensors)}


def _named_tensors(module: Any) -> dict[str, Tensor]:
    """The learned tensors of a fitted module: parameters, buffers and training data."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers()), **_training_data(module)}


def _tensors(module: Any, parts: list[Module]) -> list[Tensor]:
    """The learned tensors without names, including those of modules in plain lists, and fixed noise."""
    tensors = [*_training_data(module).values(), *buffers_of(parts)]
    for part in parts:
        tensors += [parameter for parameter in part._parameters.values() if parameter is not None]
    for part in beside_prior(parts):
        tensors += [value for value in part.__dict__.values() if isinstance(value, Tensor) and _is_dense(value)]
    return tensors


def _is_dense(tensor: Tensor) -> bool:
    """Whether torch compares tensors of this kind. Noise is dense; tensors of other kinds are a user's own."""
    return tensor.layout == torch.strided and not (tensor.is_meta or tensor.is_nested)


@final
@dataclass(frozen=True, eq=False)
class Predicted:
    """The predictions of a host at points, in its own precision."""

    m: Float[Tensor, "k c"]
    v: Float[Tensor, "k c"]
    prior: Callable[[], Float[Tensor, ""]]
    """The largest prior variance k(x, x) at the points, evaluated if it is needed."""


def predict(module: Any, x: Float[Tensor, "k d"], *, at_once: bool = False) -> Predicted:
    """m and v of a module in evaluation mode, at points in its precision.

    `at_once` computes all matrices of a variational model as plain tensors, and factorises the covariance at the
    points, so that it may fail.
    """

    def prior() -> Tensor:
        with exactly():
            return module.forward(x).variance.max().double().cpu()

    with exactly(), settings.lazily_evaluate_kernels(not at_once), settings.trace_mode(at_once):
        f = module(x)
        m, v = (tensor if tensor.ndim == 2 else tensor[:, None] for tensor in (f.mean, f.variance))
        return Predicted(m.double().cpu(), v.double().cpu(), prior)


def _is_small(module: Any, snapshot: Snapshot) -> bool:
    """Whether GPyTorch is faster `at_once`. The predictions of an ExactGP may depend on how its kernel is evaluated."""
    if not isinstance(module, ApproximateGP):
        return False
    Z = [tensor for name, tensor in snapshot.tensors.items() if name.endswith("inducing_points")]
    return sum([z.numel() * z.shape[-2] for z in Z]) <= AT_ONCE  # (b, n, d) or (n, d)


def agree(at: Marginals, predicted: Predicted, dtype: torch.dtype) -> str:
    """Refuse a process whose m or v is not the host's, up to rounding at the scale of the prior; else say how close.

    `at` are the marginals of the process at the points of the prediction. Where data have brought v down to nothing,
    rounding is still of the prior's scale.
    """
    host_m, host_v, limit = predicted.m, predicted.v, DOUBLE if dtype == torch.float64 else SINGLE
    m, v = at.m[:, :, 0], at.v[:, :, 0]
    size = v.abs().max() + host_v.abs().max()
    if not (_within(m, host_m, limit * size.sqrt()) and _within(v, host_v, limit * size)):
        size = size + predicted.prior()
    worst_m = compare_numbers("mean", m, host_m, limit * (host_m.abs().max() + size.sqrt()), HINT)
    smallest = settings.min_variance.value(dtype) or 0.0  # what the host raises smaller variances to
    worst_v = compare_numbers("variance", v, host_v, limit * size + smallest, HINT)
    return f"m and v equal the host's in {dtype} to {worst_m:.1e} and {worst_v:.1e} at {len(m)} points"


def _within(ours: Tensor, host: Tensor, limit: Tensor) -> bool:
    return ours.shape == host.shape and bool((ours - host).abs().max() <= limit)


def compare_in_double(model: Any, replica: Any, process: Process, points: Float[Tensor, "k d"]) -> tuple[str, ...]:
    """Compare a process with the shadow that it was read from, where the live model has another precision."""
    if reference(model).dtype == torch.float64:
        return ()
    return (agree(process.along(Line.at(points)), predict(replica, points), torch.float64),)


def compare_live(
    model: Any, process: Process, snapshot: Snapshot, points: Float[Tensor, "k d"], at: Marginals
) -> tuple[str, ...]:
    """Compare a process with the live model: with what was read, and its marginals `at` points with the predictions.

    If a comparison of predictions was made before and no tensor has changed since, the prior at the points is compared.
    Where no point is near the data, the predictions between some support points are compared too.
    """
    with snapshot.predicting(model) as (reference_now, compared):
        x, dtype = points.to(reference_now), reference_now.dtype
        if compared and dtype == torch.float64 and follows_from_prior(model):
            prior = snapshot.prior
            if prior is not None and prior.is_of(model, x, at):
                return (PRIOR.format(len(points)),)
        if _all_far(process, points, at) and (support := SupportSample.of(process)) is not None:
            here = support.between
            _agrees_at(here, process.along(Line.at(here)), model, process, here.to(reference_now))
        if _is_small(model, snapshot):
            with suppress(ValueError, RuntimeError):  # then lazily, as the host does by itself
                return (agree(at, predict(model, x, at_once=True), dtype),)
        return (_agrees_at(points, at, model, process, x),)


def _all_far(process: Process, points: Float[Tensor, "k d"], at: Marginals) -> bool:
    """Whether all points are so far from the data that every kernel predicts the same at them, up to its variance."""
    support = process.support_along(Line.at(points), at)
    return support is None or bool((support < NEAR).all())


def _agrees_at(
    points: Float[Tensor, "k d"], at: Marginals, model: Any, process: Process, x: Float[Tensor, "k d"]
) -> str:
    """Compare at all points at once, or else one by one; x are the points as the model takes them."""
    try:
        return agree(at, predict(model, x), x.dtype)
    except ValueError:
        for point, near in zip(points.split(1), x.split(1), strict=True):  # beside points that are far away the
            agree(process.along(Line.at(point)), predict(model, near), x.dtype)  # host loses digits of the others
        return f"m and v equal the host's in {x.dtype} at each of {len(points)} points alone"
