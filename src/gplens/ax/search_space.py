"""Ax's parameters as inputs of the surrogate, by its transforms."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pandas
import torch
from ax.adapter.adapter_utils import observation_features_to_array
from ax.adapter.torch import TorchAdapter
from ax.adapter.transforms.one_hot import OH_PARAM_INFIX
from ax.core.observation import ObservationFeatures
from ax.core.parameter import ChoiceParameter, FixedParameter
from ax.core.parameter import Parameter as AxParameter
from jaxtyping import Float
from torch import Tensor

from gplens.interop.design_tables import DesignTables, Parameter, unchanged

PATH = "paths are straight in the logarithms of parameters on a log scale"


def design_tables(adapter: TorchAdapter, arm: dict[str, Any]) -> DesignTables:
    """One column for each parameter of the search space; `arm` is any point of it."""
    inputs = tuple(adapter.parameters)
    space = adapter._search_space.parameters

    def encode(frame: pandas.DataFrame) -> Float[Tensor, "b e"]:
        return encoded(adapter, [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")])

    def parameter(name: str) -> Parameter:
        places = tuple(i for i, column in enumerate(inputs) if column.partition(OH_PARAM_INFIX)[0] == name)
        number = _number(adapter, space[name]) if len(places) == 1 else None
        if number is not None:
            return Parameter(name, places, number)
        values = _values(space[name])
        rows = encoded(adapter, [{**arm, name: value} for value in values])[:, list(places)].tolist()
        return Parameter(name, places, levels={tuple(row): str(value) for row, value in zip(rows, values, strict=True)})

    parameters = tuple(parameter(name) for name in space)
    straight = all(column.number in (unchanged, None) for column in parameters)
    return DesignTables(parameters, inputs, encode, None if straight else PATH)


def encoded(adapter: TorchAdapter, arms: list[dict[str, Any]]) -> Float[Tensor, "b e"]:
    """Parameterizations as inputs of the surrogate, by the transforms of the adapter."""
    features = [ObservationFeatures(parameters=deepcopy(arm)) for arm in arms]
    for transform in adapter.transforms.values():
        features = transform.transform_observation_features(features)
    return torch.tensor(observation_features_to_array(adapter.parameters, features), dtype=torch.float64)


def _values(parameter: AxParameter) -> list[Any]:
    if isinstance(parameter, ChoiceParameter):
        return list(parameter.values)
    if isinstance(parameter, FixedParameter):
        return [parameter.value]
    raise ValueError(
        f"expected range, choice and fixed parameters, got {parameter.name!r}, a {type(parameter).__name__}; fix it."
    )


def _number(adapter: TorchAdapter, parameter: AxParameter) -> Callable[[Tensor], Tensor] | None:
    """From the input of the surrogate to the parameter; None if the parameter is a choice of texts."""
    transforms: dict[str, Any] = dict(adapter.transforms)
    if parameter.name in getattr(transforms.get("ChoiceToNumericChoice"), "encoded_parameters", {}):
        return None
    if parameter.name in getattr(transforms.get("Log"), "transform_parameters", ()):
        return _power_of_ten
    return (
        torch.sigmoid if parameter.name in getattr(transforms.get("Logit"), "transform_parameters", ()) else unchanged
    )


def _power_of_ten(values: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
    return 10**values
