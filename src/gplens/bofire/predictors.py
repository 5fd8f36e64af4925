"""What strategies and surrogates of BoFire share: inputs, outputs, a fitted model and its predictions."""

from dataclasses import dataclass
from typing import Any, final

import pandas
import torch
from bofire.data_models.domain.api import Inputs
from bofire.data_models.features.api import CategoricalInput
from bofire.data_models.types import InputTransformSpecs
from bofire.strategies.predictives.botorch import BotorchStrategy
from bofire.surrogates.botorch import BotorchSurrogate
from jaxtyping import Float
from torch import Tensor

from gplens.interop.design_tables import DesignTables, Parameter, unchanged


@final
@dataclass(frozen=True, eq=False)
class FittedStrategy:
    """A fitted strategy or surrogate."""

    predictor: Any
    model: Any
    """The model of BoTorch, with one output for each name."""
    inputs: Inputs
    specs: InputTransformSpecs
    """BoFire's encodings of categories as inputs of the model."""
    outputs: tuple[str, ...]

    @staticmethod
    def of(predictor: Any, experiments: pandas.DataFrame) -> "FittedStrategy":
        """Raises BoFire's ValueError if nothing was fitted, and a TypeError for predictors of another kind."""
        if not isinstance(predictor, BotorchStrategy | BotorchSurrogate):
            raise TypeError(
                f"expected a strategy or a surrogate of BoFire that uses BoTorch, got {type(predictor).__name__}; "
                "bofire.surrogates.feature_importance.shap_importance samples any other."
            )
        if not predictor.is_fitted:
            predictor.predict(experiments)  # raises
        owner: Any = predictor.domain if isinstance(predictor, BotorchStrategy) else predictor
        specs, names = predictor.input_preprocessing_specs, tuple(owner.outputs.get_keys())
        return FittedStrategy(predictor, predictor.model, owner.inputs, specs, names)

    def model_of(self, output: str) -> Any:
        """The part of the model that predicts one output."""
        return self.model if len(self.outputs) == 1 else self.model.subset_output([self.outputs.index(output)])

    def predicted(self, experiments: pandas.DataFrame, output: str) -> Float[Tensor, " b"]:
        """The prediction of BoFire."""
        return torch.tensor(self.predictor.predict(experiments)[f"{output}_pred"].to_numpy(dtype=float))

    def tables(self, experiments: pandas.DataFrame) -> DesignTables:
        """One column for each input. Categories are recognised by encodings, computed for the first experiment."""
        columns, _ = self.inputs._get_transform_info(self.specs)
        names = tuple(self.inputs.get_keys())
        row = experiments[list(names)].iloc[[0]]

        def parameter(key: str) -> Parameter:
            feature, places = self.inputs.get_by_key(key), tuple(columns[key])
            if not isinstance(feature, CategoricalInput):
                return Parameter(key, places, unchanged)
            rows = pandas.concat([row] * len(feature.categories), ignore_index=True)
            encodings = self._encoded(rows.assign(**{key: list(feature.categories)}))[:, list(places)].tolist()
            pairs = zip(encodings, feature.categories, strict=True)
            return Parameter(key, places, levels={tuple(encoding): str(category) for encoding, category in pairs})

        encoded_names = tuple(self.inputs.transform(row, self.specs).columns)
        return DesignTables(tuple(map(parameter, names)), encoded_names, self._encoded)

    def _encoded(self, frame: pandas.DataFrame) -> Float[Tensor, "b e"]:
        return torch.tensor(self.inputs.transform(frame, self.specs).to_numpy(dtype=float).copy(), dtype=torch.float64)
