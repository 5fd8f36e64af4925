"""scikit-learn models: predict and predict_proba, called with a table like the one that the model was fitted to."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import is_classifier
from torch import Tensor

from gplens.adapters.reading import encoder_of
from gplens.adapters.sklearn.predictions import predict as call
from gplens.verification.host import DOUBLE, Host, Joint


def host_of(model: Any, likelihood: Any) -> Host:
    """The host of a regressor, a classifier, or a pipeline of numbers."""
    if encoder_of(model) is not None:
        return Host(None, DOUBLE, reason="the pipeline encodes its columns, and predicts for tables alone")
    if is_classifier(model):
        reason = "scikit-learn does not give the joint distribution of the latent function of a classifier"
        return Host(lambda X: _probabilities(model, X), DOUBLE, reason=reason)

    def predict(X: Float[Tensor, "k d"]) -> Float[Tensor, "k o"]:
        (mean,) = call(model.predict, model, X)
        return mean if mean.ndim == 2 else mean[:, None]

    def joint(X: Float[Tensor, "k d"]) -> Joint:
        try:
            mean, S = call(lambda table: model.predict(table, return_cov=True), model, X)
        except TypeError as cause:
            raise ValueError(f"{type(model).__name__}.predict has no return_cov") from cause
        S = S if S.ndim == 3 else S[:, :, None]
        return Joint((mean if mean.ndim == 2 else mean[:, None]).T, S.permute(2, 0, 1))

    return Host(predict, DOUBLE, joint, lambda f: f)


def _probabilities(model: Any, X: Float[Tensor, "k d"]) -> Float[Tensor, "k o"]:
    """The probabilities of all classes; of the second class if there are two."""
    (p,) = call(model.predict_proba, model, X)
    p = torch.from_numpy(np.asarray(p))
    return p[:, 1:] if p.shape[1] == 2 else p
