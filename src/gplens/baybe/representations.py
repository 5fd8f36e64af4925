"""BayBE's two representations: the parameters of experimenters, and the columns of its models."""

import pandas
import torch
from baybe.parameters.base import Parameter as BaybeParameter
from baybe.searchspace import SearchSpace
from jaxtyping import Float
from torch import Tensor

from gplens.interop.design_tables import DesignTables, Parameter, unchanged


def experimental_tables(searchspace: SearchSpace) -> DesignTables:
    """One column for each parameter, with the sum over its computational columns, such as descriptors."""
    parameters = tuple(_parameter(parameter, searchspace) for parameter in searchspace.parameters)

    def encode(frame: pandas.DataFrame) -> Float[Tensor, "b e"]:
        computational = searchspace.transform(frame, allow_extra=True)
        columns = computational[list(searchspace.comp_rep_columns)]
        return torch.tensor(columns.to_numpy(dtype=float).copy(), dtype=torch.float64)

    return DesignTables(parameters, tuple(searchspace.comp_rep_columns), encode)


def _parameter(parameter: BaybeParameter, searchspace: SearchSpace) -> Parameter:
    """A number keeps its value; the rows of `comp_df` are the encodings of the categories."""
    inputs = tuple(searchspace.get_comp_rep_parameter_indices(parameter.name))
    if parameter.is_numerical:
        return Parameter(parameter.name, inputs, unchanged)
    columns = [searchspace.comp_rep_columns[i] for i in inputs]
    encodings = parameter.comp_df[columns].astype(float)  # pyright: ignore[reportAttributeAccessIssue]
    levels: dict[tuple[float, ...], str] = {}
    for label, encoding in zip(encodings.index, encodings.to_numpy().tolist(), strict=True):
        names = levels.get(tuple(encoding))
        levels[tuple(encoding)] = str(label) if names is None else f"{names} or {label}"
    return Parameter(parameter.name, inputs, levels=levels)
