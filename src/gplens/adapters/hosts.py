"""The host libraries whose models gplens reads, the modules that read them, and their versions and precisions."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import singledispatch
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.tables import read_table


class Host(NamedTuple):
    """A library, and the range of its versions whose private attributes the adapter knows."""

    adapter: str
    """The module that registers readers of its models; imported when one of its objects is given."""
    package: str
    """The name of the package for pip."""
    low: tuple[int, ...] = (0,)
    high: tuple[int, ...] = (10**9,)
    """The lowest tested version and the first untested one, as in pyproject.toml."""

    @property
    def requirement(self) -> str:
        """The requirement, as pip takes it."""
        low, high = (".".join(map(str, bound)) for bound in (self.low, self.high))
        return f"{self.package}>={low},<{high}"

    def explained(self, cause: Exception) -> Exception:
        """The error for a missing name; if the installed version was never tested, it says which version to install."""
        try:
            installed = version(self.package)
        except PackageNotFoundError:  # a library that was not installed by pip
            return cause
        release = re.split(r"[^\d.]", installed)[0].strip(".").split(".")
        if self.low <= tuple(map(int, release)) < self.high:
            return cause
        return ImportError(
            f"expected {self.requirement}, got {self.package} {installed}, where something that gplens reads is "
            f'missing ({cause}); pip install "{self.requirement}".'
        )


@final
class Extra:
    """`with Extra("captum", "gplens.captum"):` names the extra to install in the error for a missing package."""

    def __init__(self, name: str, purpose: str) -> None:
        self.name, self.purpose = name, purpose

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, cause: BaseException | None, trace: object) -> None:
        if isinstance(cause, ModuleNotFoundError) and not (cause.name or "").startswith("gplens"):
            raise ImportError(
                f"expected {cause.name} to be installed for {self.purpose}, got no such module. Install gplens with "
                f"the extra [{self.name}]: in a clone, pip install '.[{self.name}]'."
            ) from cause


HOSTS = {
    "gplens": Host("gplens.adapters.native", "gplens"),
    "gpytorch": Host("gplens.adapters.gpytorch", "gpytorch", (1, 15, 1), (1, 16)),
    "sklearn": Host("gplens.adapters.sklearn", "scikit-learn", (1, 8), (1, 10)),
    "botorch": Host("gplens.adapters.botorch", "botorch", (0, 17), (0, 19)),
}
"""Hosts by the name of the top-level Python package. A new host is one line here."""
LIBRARIES = ", ".join(host.package for root, host in HOSTS.items() if root != "gplens")


def check_precision(thing: Any) -> None:
    """Refuse a torch module in a precision without Cholesky decomposition, in which its host cannot predict."""
    for name, parameter in thing.named_parameters() if isinstance(thing, torch.nn.Module) else ():
        if parameter.is_floating_point() and parameter.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"expected parameters in float32 or float64, got {name} of {type(thing).__name__} in "
                f"{parameter.dtype}, in which its library cannot predict; call model.float()."
            )


@contextmanager
def importing_host(thing: Any) -> Iterator[type | None]:
    """Import the adapter of an object's library; raise an error if its version lacks what the adapter reads."""
    if isinstance(thing, type):
        raise TypeError(f"expected a fitted instance, got the class {thing.__name__}; create and fit one.")
    roots = [kind.__module__.partition(".")[0] for kind in type(thing).__mro__]
    host = next((HOSTS[root] for root in sorted(roots, key="gplens".__ne__) if root in HOSTS), None)  # gplens first
    try:
        yield None if host is None else getattr(import_module(host.adapter), "FAMILY", None)
    except (ImportError, AttributeError) as cause:
        error = cause if host is None else host.explained(cause)
        if error is cause:
            raise
        raise error from cause


def encoder_of(model: object) -> Encoder | None:
    """The encoder of a model, whose host is imported first; None for a model of plain numbers."""
    with importing_host(model):
        return read_encoder(model)


@singledispatch
def read_encoder(model: object) -> Encoder | None:
    """The attribute `encoder` of a model, if it has one; adapters register other types here."""
    encoder = getattr(model, "encoder", None)
    return encoder if isinstance(encoder, Encoder) else None


def read_points(model: object, points: Any) -> Float[Tensor, "k e"] | None:
    """Inputs of a model, from rows of a table, or from a tensor of rows that are encoded already."""
    encoder = None if isinstance(points, Tensor) else encoder_of(model)
    if points is None:
        return None
    return read_table(points, "points").values if encoder is None else encoder.read(points, "points")[0].values
