"""Explanations of estimators: those of their GPyTorch models, in the user's units and columns."""

import pickle

import numpy as np
import pandas
import pytest
import torch
from estimator_tables import KINDS, SMALL, TWO_CLASSES, fitted, real, table, three
from sklearn.exceptions import NotFittedError

import gplens
from gplens.estimators import GPClassifier, GPCountRegressor, GPRegressor


@pytest.mark.parametrize("kind", KINDS)
def test_an_explanation_is_that_of_the_gpytorch_model(kind: str) -> None:
    """Bit for bit, through the estimator, gplens.explain and the model with its likelihood."""
    model, X = fitted(kind), table(3, seed=7)[0]
    own = model.explain(X, baseline=model.mean_input_)
    also = gplens.explain(model, X, baseline=model.mean_input_)
    host = gplens.explain(model.model_, X, baseline=model.mean_input_, likelihood=model.likelihood_)
    for other in (also, host):
        assert torch.equal(own.values, other.values)
        assert torch.equal(own.prediction, other.prediction)
    assert torch.equal(own.inputs, torch.from_numpy(X))


@pytest.mark.parametrize("kind", KINDS)
def test_attributions_add_up_to_what_predict_says(kind: str) -> None:
    model, X = fitted(kind), table(3, seed=7)[0]
    e = model.explain(X, baseline=model.mean_input_)
    says = model.predict_proba if isinstance(model, GPClassifier) else model.predict
    change = torch.as_tensor(says(X) - says(model.mean_input_[None]))
    change = change[:, 1] if kind in TWO_CLASSES else change
    torch.testing.assert_close(e.values.sum(-1), change, rtol=1e-6, atol=1e-6 * float(change.abs().max()))


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_explanation(kind: str) -> None:
    """One Posterior and one expectation: equal to rounding, where blocks of other sizes may round differently."""
    model, X = fitted(kind), table(3, seed=7)[0]
    e = model.explain(X, baseline=model.mean_input_)
    says = model.predict_proba if isinstance(model, GPClassifier) else model.predict
    predicted = says(X)[:, 1] if kind in TWO_CLASSES else says(X)
    np.testing.assert_allclose(predicted, e.prediction, rtol=1e-9, atol=1e-12)
    latent = model.explain(X, baseline=model.mean_input_, target=gplens.targets.Latent())
    np.testing.assert_allclose(model.posterior_.m(torch.from_numpy(X)).squeeze(1), latent.prediction, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fitted_estimator_can_be_pickled(kind: str) -> None:
    model, X = fitted(kind), table(3, seed=7)[0]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert torch.equal(
        again.explain(X, baseline=again.mean_input_).values, model.explain(X, baseline=model.mean_input_).values
    )


@pytest.mark.parametrize("scaling", ["columns", "table"])
def test_units_do_not_matter(scaling: str) -> None:
    """Other units give the same attributions: of each column where each is standardised, else of all at once."""
    (X, f), unit = table(40), np.array([1e-3, 1e4, 1e6]) if scaling == "columns" else np.full(3, 1e3)
    both = [GPRegressor(scaling=scaling).fit(Z, real(f)) for Z in (X, X * unit)]
    a, b = (model.explain(Z[:3], baseline=Z.mean(0)) for model, Z in zip(both, (X, X * unit), strict=True))
    torch.testing.assert_close(a.values, b.values, rtol=1e-3, atol=1e-3 * float(a.values.abs().max()))


def test_a_frames_columns_name_the_features_and_labels_the_classes() -> None:
    X, f = table()
    frame = pandas.DataFrame(X, columns=["hour", "temperature", "wind"])
    model = GPClassifier(**SMALL).fit(frame, three(f))
    e = model.explain(frame[:2], baseline=frame.mean(), groups={"weather": ["temperature", "wind"]})
    assert e.feature_names == ("hour", "weather")
    assert e.output_names == model.class_names == ("class 0", "class 10", "class 20")
    for asked in (["class 20", "class 0"], [20, 0], [2, 0], np.array([20, 0]), (np.int64(20), "class 0")):
        some = model.explain(frame[:2], baseline=frame.mean(), outputs=asked)
        assert some.output_names == ("class 20", "class 0")
    torch.testing.assert_close(some.prediction, torch.from_numpy(model.predict_proba(frame[:2])[:, [2, 0]]))
    for asked in ("7", 7, 2.5, None):
        with pytest.raises(ValueError, match=rf"class 0.*class 10.*class 20.*{asked!r}"):
            model.explain(frame[:2], baseline=frame.mean(), outputs=[asked])
    with pytest.raises(ValueError, match="feature names should match"):
        model.explain(frame[:2].rename(columns={"hour": "day"}), baseline=0.0)


def test_a_number_that_can_be_a_label_or_a_position_is_refused() -> None:
    X, f = table()
    model = GPClassifier(**SMALL).fit(X, np.digitize(f, [-0.5, 0.5]) + 1)  # 1, 2, 3 at the positions 0, 1, 2
    chosen = [model.explain(X[:1], baseline=X[1], outputs=asked).output_names for asked in (0, 3, "class 2")]
    assert chosen == [("class 1",), ("class 3",), ("class 2",)]
    with pytest.raises(ValueError, match=r"class 1.*class 2.*class 3.*got 1"):
        model.explain(X[:1], baseline=X[1], outputs=1)


@pytest.mark.parametrize("kind", ["probit", "logistic"])
def test_two_classes_say_which_one_is_explained(kind: str) -> None:
    model, X = fitted(kind), table(2, seed=7)[0]
    for e in (model.explain(X, baseline=X[0]), gplens.explain(model, X, baseline=X[0])):
        assert any("P(y = yes)" in note for note in e.provenance.notes)
    assert model.class_names == ("no", "yes")
    assert torch.equal(model.explain(X, baseline=X[0], outputs="yes").values, e.values)
    with pytest.raises(ValueError, match=r"'yes'.*'no'"):
        model.explain(X, baseline=X[0], outputs="no")


def test_error_bars_and_other_targets_need_no_likelihood() -> None:
    model, X = fitted("count"), table(2, seed=7)[0]
    e = model.explain(X, baseline=model.mean_input_, uncertainty=gplens.Diagonal())
    assert bool((torch.as_tensor(e.std) > 0).all())
    latent = model.explain(X, baseline=model.mean_input_, target=gplens.targets.Latent())
    np.testing.assert_allclose(latent.prediction, model._marginals(torch.from_numpy(X))[0][:, 0])


def test_what_cannot_be_explained_says_why() -> None:
    X = table(2)[0]
    with pytest.raises(NotFittedError):
        GPCountRegressor().explain(X, baseline=0.0)
    with pytest.raises(ValueError, match=r"GPCountRegressor.*fit"):  # NotFittedError is one
        gplens.explain(GPCountRegressor(), X, baseline=0.0)
    with pytest.raises(ValueError, match=r"baseline.*None"):  # which the GPyTorch model does not keep
        gplens.explain(fitted("count").model_, X, likelihood=fitted("count").likelihood_)
    with pytest.raises(ValueError, match=r"LogPoisson.*Probit"):
        gplens.explain(fitted("count"), X, baseline=0.0, likelihood=gplens.links.Probit())
