"""The surrogate behind an Ax adapter, read in the raw units of a metric."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from ax.adapter.adapter_utils import array_to_observation_data
from ax.adapter.torch import TorchAdapter
from ax.core.observation import Observation, ObservationFeatures

from gplens.adapters.reading import Reading, read
from gplens.likelihood import Likelihood
from gplens.links import Affine, Identity

STRAIGHT = 1e-9
"""The largest relative deviation of three points from a line that is taken for rounding."""


def read_metric(adapter: TorchAdapter, metric: str, arm: dict[str, Any]) -> Reading:
    """The surrogate of one metric, such that explanations add up to `adapter.predict`.

    Raises:
        ValueError: if the adapter has no such metric, or transforms it by more than a scale and a shift.
    """
    outcomes = list(adapter.outcomes)
    if metric not in outcomes:
        raise ValueError(f"expected a metric of the surrogate, one of {outcomes}, got {metric!r}.")
    model: Any = adapter.generator.surrogate.model  # pyright: ignore[reportAttributeAccessIssue]
    scale, shift = units(adapter, metric, arm)
    reading = read(model if len(outcomes) == 1 else model.subset_output([outcomes.index(metric)]))
    return replace(reading, likelihood=Likelihood.of_link(Affine(Identity(), scale, shift)), conjugate=False)


def units(adapter: TorchAdapter, metric: str, arm: dict[str, Any]) -> tuple[float, float]:
    """scale and shift of  metric = scale f + shift,  from the transforms of Ax at f = 0, 1 and 2."""
    outcomes, column = list(adapter.outcomes), list(adapter.outcomes).index(metric)
    f = np.repeat(np.arange(3.0)[:, None], len(outcomes), axis=1)
    data = array_to_observation_data(f=f, cov=np.zeros((3, len(outcomes), len(outcomes))), outcomes=outcomes)
    features = [ObservationFeatures(parameters=deepcopy(arm))]
    for transform in adapter.transforms.values():
        features = transform.transform_observation_features(features)
    observations = [Observation(features=deepcopy(features[0]), data=values) for values in data]
    for transform in reversed(list(adapter.transforms.values())):
        observations = transform.untransform_observations(observations)
    y0, y1, y2 = (float(observation.data.means[column]) for observation in observations)
    if abs(y2 - 2 * y1 + y0) > STRAIGHT * max(abs(y0), abs(y1), abs(y2)):
        raise ValueError(
            f"expected transforms that scale and shift the metric {metric!r}, got {list(adapter.transforms)}, which "
            "are not affine; explain another metric, or use an adapter without BilogY or PowerTransformY."
        )
    return y1 - y0, y0
