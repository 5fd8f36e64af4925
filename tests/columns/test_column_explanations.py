"""Explanations of models of mixed tables: in the columns of the table, and adding up to what the model predicts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import torch
from mixed_tables import CHOSEN, fitted, latent, mixed

import gplens
from gplens.estimators import GPClassifier, GPRegressor, load
from messages import naming

KINDS = ["exact", "count", "probit", "softmax"]
NEW = mixed(4, seed=5).assign(age=[31.0, 22.0, np.nan, 40.0])
SAME = 3e-3
"""Deviations agree to this, whichever of the two is less exact."""
NODES, WEIGHTS = ((part + offset) / 2 for part, offset in zip(np.polynomial.legendre.leggauss(40), (1, 0), strict=True))


def says(model: Any, frame: Any) -> np.ndarray:
    """What the model predicts: E y, or the probabilities of the classes that are explained."""
    if not isinstance(model, GPClassifier):
        return model.predict(frame)
    p = model.predict_proba(frame)
    return p[:, 1] if p.shape[1] == 2 else p


@pytest.mark.parametrize("kind", KINDS)
def test_attributions_add_up_to_the_change_of_the_prediction(kind: str) -> None:
    """From a row of the table, whatever its entries are."""
    model = fitted(kind)
    e = model.explain(NEW, baseline=mixed(9).iloc[8])
    change = torch.as_tensor(says(model, NEW) - says(model, mixed(9)[8:]))
    torch.testing.assert_close(e.values.sum(-1), change, rtol=1e-6, atol=1e-6 * float(change.abs().max()))
    assert e.feature_names == tuple(NEW.columns)
    assert e.values.shape[-1] == len(NEW.columns)
    assert bool((e.values[..., -1] == 0).all()), "names are left out of the model"


def test_numbers_have_integrated_central_differences_of_predict() -> None:
    """With the same category and date as the baseline, so that the path runs through rows of the table: straight in
    the numbers, and in the logarithm of the price."""
    model, start = fitted("exact"), NEW.iloc[[0]]
    end = start.assign(area=start["area"] + 40, price=start["price"] * 5, age=start["age"] - 12)
    e = model.explain(end, baseline=start)
    path = pandas.concat([start] * len(NODES), ignore_index=True).assign(
        area=float(start["area"].iloc[0]) + NODES * 40,
        price=float(start["price"].iloc[0]) * 5**NODES,
        age=float(start["age"].iloc[0]) - NODES * 12,
    )
    steps = {"area": 0.1, "age": 0.1, "price": 0.01}  # GPyTorch's distances round, so that steps cannot be small
    slopes = {}
    for name, h in steps.items():
        at = [path[name] * np.exp(k * h) if name == "price" else path[name] + k * h for k in (1, -1, 2, -2)]
        rows = pandas.concat([path.assign(**{name: column}) for column in at])
        up, down, far_up, far_down = model.predict(rows).reshape(4, -1)
        slopes[name] = (8 * (up - down) - (far_up - far_down)) / (12 * h)  # without the error of h^2
    changes = {"area": 40.0, "age": -12.0, "price": np.log(5)}
    expected = [changes[name] * (WEIGHTS @ slopes[name]) if name in changes else 0.0 for name in NEW.columns]
    assert min(abs(value) for value in expected if value) > 1e-3
    np.testing.assert_allclose(e.values[0], expected, atol=1e-6)


def round_path(start: np.ndarray, end: np.ndarray, cosines: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Points at the nodes and their derivatives: radius and angle of a cosine and the sine behind it, as a complex
    number, change at constant speeds."""
    points, speed = start + NODES[:, None] * (end - start), np.tile(end - start, (len(NODES), 1))
    for i in cosines:
        a, b = (complex(row[i], row[i + 1]) for row in (start, end))
        turn, radius = np.angle(b / a), abs(a) + NODES * (abs(b) - abs(a))
        z = radius * np.exp(1j * (np.angle(a) + NODES * turn))
        rate = z * ((abs(b) - abs(a)) / radius + 1j * turn)
        points[:, i], points[:, i + 1], speed[:, i], speed[:, i + 1] = z.real, z.imag, rate.real, rate.imag
    return torch.from_numpy(points), torch.from_numpy(speed)


@pytest.mark.parametrize("baseline", ["row", "mean"])
def test_columns_of_several_inputs_have_the_sum_over_them(baseline: str) -> None:
    """Central differences of GPyTorch's own prediction in every input of the model, integrated along the path of the
    inputs, straight or round, and added up by hand."""
    model, frame = fitted("exact"), mixed()
    given = frame.iloc[3] if baseline == "row" else gplens.baselines.Mean(frame)
    e = model.explain(NEW[:1], baseline=given, tolerance=1e-9)
    plan = model.columns_
    inputs = torch.from_numpy(plan.encode(plan.raw(frame, "X")))
    start = inputs[3] if baseline == "row" else inputs.mean(0)
    end = torch.from_numpy(plan.encode(plan.raw(NEW[:1], "X")))[0]

    def mean(points: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return model.model_(points).mean

    attributions, h = torch.zeros(len(end)).double(), 1e-2  # GPyTorch's distances round, more so for dates in days
    points, speed = round_path(start.numpy(), end.numpy(), [i for i, name in enumerate(plan.inputs) if "cos(" in name])
    for k in range(len(end)):
        step = torch.zeros_like(end)
        step[k] = h
        near, far = ((mean(points + size * step) - mean(points - size * step)) / (2 * size * h) for size in (1, 2))
        slope = (4 * near - far) / 3  # without the error of h^2
        attributions[k] = (torch.from_numpy(WEIGHTS) * speed[:, k] * slope).sum()
    blocks = {name: [i for i, label in enumerate(plan.inputs) if name in label] for name in NEW.columns}
    assert [len(block) for block in blocks.values()] == [1, 1, 2, 2, 3, 1, 7, 0]
    expected = [float(attributions[block].sum()) for block in blocks.values()]
    np.testing.assert_allclose(e.values[0], expected, atol=2e-6)


def test_the_deviation_of_a_column_is_that_of_the_sum() -> None:
    """(5.19), from the covariances of all inputs, as the model without its columns has them. The correlations matter:
    without them the deviations would be others by more than the tolerance."""
    model, frame = fitted("exact"), mixed()
    rows = NEW[:2].assign(hour=frame["hour"].iloc[3], sold=frame["sold"].iloc[3])  # paths that are straight in inputs
    e = model.explain(rows, baseline=frame.iloc[3], uncertainty=gplens.Full())
    plan = model.columns_
    X, x0 = (torch.from_numpy(plan.encode(plan.raw(table, "X"))) for table in (rows, frame[3:4]))
    inner = gplens.explain(model.model_, X, baseline=x0[0], likelihood=model.likelihood_, uncertainty=gplens.Full())
    assert inner.covariance is not None
    assert e.covariance is not None
    add = torch.zeros(len(plan.inputs), len(plan.columns)).double()
    for k, block in enumerate(plan.blocks):
        add[list(block), k] = 1
    expected = add.T @ inner.covariance @ add
    torch.testing.assert_close(e.covariance, expected, rtol=SAME, atol=SAME * float(expected.max()))
    std = model.explain(rows, baseline=frame.iloc[3], uncertainty=gplens.Diagonal()).std
    deviations = expected.diagonal(dim1=1, dim2=2).sqrt()
    torch.testing.assert_close(std, deviations, rtol=SAME, atol=SAME * float(deviations.max()))
    alone = (inner.covariance.diagonal(dim1=1, dim2=2) @ add).sqrt()
    assert float(((alone - deviations) / deviations.clamp(min=1e-9)).abs().max()) > 20 * SAME
    grouped = model.explain(
        rows, baseline=frame.iloc[3], uncertainty=gplens.Diagonal(), groups={"where": ["place", "area"]}
    )
    both = expected[:, [0, 4]][:, :, [0, 4]].sum((1, 2)).sqrt()
    assert grouped.std is not None
    torch.testing.assert_close(grouped.std[:, grouped.feature_names.index("where")], both, rtol=SAME, atol=0)


def test_classes_have_deviations_of_columns_too() -> None:
    """Softmax has no covariances in closed form; that of all columns together is checked by draws."""
    model, frame = fitted("softmax"), mixed()
    e = model.explain(NEW[:1], baseline=frame.iloc[3], uncertainty=gplens.Diagonal())
    draws = model.explain(NEW[:1], baseline=frame.iloc[3], uncertainty=gplens.Samples(400, seed=1)).draws
    assert e.std is not None
    assert draws is not None
    torch.testing.assert_close(draws.std(1), e.std, rtol=0.25, atol=0.01)


def test_gplens_explain_and_the_estimator_agree() -> None:
    for kind in KINDS:
        model = fitted(kind)
        own, other = (explain(NEW[:1], baseline=model.mean_input_) for explain in (model.explain, bound(model)))
        also = gplens.explain(gplens.read(model), NEW[:1], baseline=model.mean_input_)
        for e in (other, also):
            assert torch.equal(own.values, e.values)
            assert (own.feature_names, own.output_names) == (e.feature_names, e.output_names)
            assert repr(own) == repr(e)
    assert "P(y = dear)" in repr(fitted("probit").explain(NEW[:1], baseline=NEW.iloc[1]))


def bound(model: Any) -> Any:
    return lambda X, baseline: gplens.explain(model, X, baseline=baseline)


def test_the_text_shows_entries_as_the_table_has_them() -> None:
    e = fitted("exact").explain(NEW, baseline=gplens.baselines.Mean(mixed()))
    lines = {line.split()[0]: " ".join(line.split()) for line in repr(e[2]).splitlines() if line.startswith("    ")}
    row = NEW.iloc[2]
    assert lines["place"].startswith(f"place = {row['place']} ")
    assert lines["heated"].startswith(f"heated = {row['heated']} ")
    assert lines["sold"].startswith(f"sold = {row['sold']:%Y-%m-%d %H:%M} ")
    assert lines["age"].startswith("age = missing ")
    assert lines["hour"].startswith(f"hour = {row['hour']} ")
    assert lines["price"].startswith(f"price = {row['price']:.6g} ")
    assert "input 0 (h2)" in repr(e[2])
    assert "straight in the inputs of the model: logarithm of price; angle (the shorter way round) of hour" in repr(e)
    shares = 100 * mixed()["place"].value_counts(normalize=True)
    for place, share in shares.items():
        assert f"{share:.3g} % {place}" in str(e.labels.baseline_text(0, 4))


def test_frames_of_other_libraries_come_back_and_the_index_is_kept() -> None:
    model, frame = fitted("exact"), mixed()
    as_pandas = model.explain(NEW, baseline=frame.iloc[3])
    for make in (polars.from_pandas, pyarrow.Table.from_pandas):
        other = model.explain(_without_index(make, NEW), baseline=_without_index(make, frame[3:4]))
        assert torch.equal(other.values, as_pandas.values)
        assert type(other.to_frame()) is type(_without_index(make, NEW))
        np.testing.assert_array_equal(model.predict(_without_index(make, NEW)), model.predict(NEW))
    table = as_pandas.to_frame()
    assert list(dict.fromkeys(table.index)) == list(NEW.index)
    assert table.loc["h1"]["input_label"].tolist()[4] == NEW["place"].iloc[1]
    assert as_pandas[[2, 0]].labels.rows == ("h2", "h0")


def _without_index(make: Any, frame: pandas.DataFrame) -> Any:
    return make(frame.reset_index(drop=True))


@pytest.mark.parametrize("kind", ["exact", "softmax"])
def test_a_loaded_model_has_the_same_columns(kind: str, tmp_path: Path) -> None:
    model = fitted(kind)
    model.save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.columns_ == model.columns_
    assert loaded.get_params()["columns"] == CHOSEN
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    own, again = (m.explain(NEW[:1], baseline=m.mean_input_) for m in (model, loaded))
    assert torch.equal(own.values, again.values)
    own.save(tmp_path / "explanation")
    assert repr(gplens.Explanation.load(tmp_path / "explanation")) == repr(again)


def test_baselines_of_every_form() -> None:
    model, frame = fitted("exact"), mixed()
    row = frame.iloc[3]
    expected = model.explain(NEW, baseline=row)
    for same in (row.to_dict(), frame[3:4], gplens.baselines.Rows(frame.iloc[[3] * 4]), row.tolist()):
        torch.testing.assert_close(model.explain(NEW, baseline=same).values, expected.values, rtol=1e-9, atol=1e-9)
    assert expected.labels.baseline_text(0, 4) == row["place"]
    assert float(expected.baseline[0, 0]) == row["area"]
    background = model.explain(NEW[:1], baseline=gplens.baselines.Sample(frame[3:6]))
    singles = [model.explain(NEW[:1], baseline=frame.iloc[i]).values for i in (3, 4, 5)]
    torch.testing.assert_close(background.values, torch.stack(singles).mean(0), rtol=1e-6, atol=1e-6)
    mean = model.explain(NEW[:1], baseline=gplens.baselines.Mean(frame))
    torch.testing.assert_close(mean.values, model.explain(NEW[:1], baseline=model.mean_input_).values)
    with pytest.raises(ValueError, match=naming("4 rows", "gplens.baselines.Sample(X0)", "gplens.baselines.Rows(X0)")):
        model.explain(NEW, baseline=frame[:4])
    for nothing in (0.0, gplens.baselines.Zeros()):
        with pytest.raises(ValueError, match=naming("'price'", 0)):
            model.explain(NEW, baseline=nothing)


def test_baselines_are_chosen_among_the_rows_of_a_mixed_table() -> None:
    """By distances and outcomes, and shown as the table has them."""
    model, frame = fitted("exact"), mixed()
    place = frame["place"].iloc[3]
    e = model.explain(NEW[:2], baseline=gplens.baselines.Nearest(frame, frame["place"], where=place))
    assert [e.labels.baseline_text(i, 4) for i in range(2)] == [place, place]
    best = model.explain(NEW[:1], baseline=gplens.baselines.Incumbent(frame, frame["area"]))
    assert float(best.baseline[0, 0]) == pytest.approx(frame["area"].max())
    typical = float(model.explain(NEW[:1], baseline=gplens.baselines.Medoid(frame)).baseline[0, 0])
    assert np.isclose(typical, frame["area"]).any()


def test_rows_that_the_model_does_not_know() -> None:
    """An unseen category is the average of the training rows, with a warning; a missing number that never was one,
    a date in the place of a number and other columns are refused with row and column."""
    model, frame = fitted("exact"), mixed()
    strange = NEW.assign(place=["Hill", "Moon", "Hill", None])
    with pytest.warns(UserWarning, match=naming("'place'", "'Moon'", "row 1", "2 of 4")):
        predicted = model.predict(strange)
    place = [i for i, name in enumerate(model.columns_.inputs) if name.startswith("place")]
    with pytest.warns(UserWarning, match="place"):
        inputs = model._read(strange)
    shares = [(frame["place"] == label).mean() for label in ("Hill", "NewTown", "OldTown")]
    np.testing.assert_allclose(inputs[1, place], shares)
    np.testing.assert_allclose(predicted[[0]], model.predict(NEW.assign(place="Hill"))[[0]])
    with pytest.warns(UserWarning, match="place"):
        e = model.explain(strange, baseline=gplens.baselines.Mean(frame))
    assert e.labels.input_text(1, 4) == "Moon (unseen)"
    assert abs(float(e.values[1, 4])) < 1e-9, "relative to the average of the rows, it says nothing"
    with pytest.raises(ValueError, match=naming("'area'", "row 2", "missing")):
        model.predict(NEW.assign(area=[1.0, 2.0, np.nan, 4.0]))
    with pytest.raises(ValueError, match=naming("'area'", "big", "row 0")):
        model.predict(NEW.assign(area="big"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(NEW.rename(columns={"area": "space"}))
    with pytest.raises(ValueError, match=naming("area", "space")):
        gplens.explain(model, NEW.rename(columns={"area": "space"}), baseline=frame.iloc[0])


def test_missing_numbers_are_the_median_and_an_input() -> None:
    model, frame = fitted("exact"), mixed()
    inputs = model._read(NEW)
    k = model.columns_.inputs.index("age")
    np.testing.assert_allclose(inputs[2, k : k + 2], [np.nanmedian(frame["age"]), 1.0])
    np.testing.assert_allclose(inputs[0, k : k + 2], [31.0, 0.0])


def test_durations_are_seconds_and_print_as_durations() -> None:
    waits = pandas.DataFrame({"wait": pandas.to_timedelta([60, 3600, 90, 5400, 700], unit="s")})
    model = GPRegressor("rbf").fit(waits, np.arange(5.0))
    e = gplens.explain(model, waits[1:2], baseline=waits.iloc[[0]])
    np.testing.assert_allclose(e.values.sum(1), model.predict(waits[1:2]) - model.predict(waits[:1]), atol=1e-6)
    assert (float(e.inputs[0, 0]), e.labels.input_text(0, 0)) == (3600.0, "1:00:00")


def test_arrays_of_objects_and_of_numbers_with_gaps() -> None:
    """Columns without names, by position; a missing number in an array is missing."""
    frame = mixed(30)
    X = frame[["area", "place", "age"]].to_numpy()
    model = GPRegressor("rbf").fit(X, latent(frame))
    assert model.columns_.names == ("x0", "x1", "x2")
    e = model.explain(X[:2], baseline=X[3])
    assert e.feature_names == ("x0", "x1", "x2")
    assert e.labels.input_text(0, 1) == frame["place"].iloc[0]
    numbers = frame[["area", "age"]].to_numpy()
    gaps = GPRegressor("rbf").fit(numbers, latent(frame))
    assert gaps.columns_.inputs == ("x0", "x1", "x1 is missing")
    assert gaps.explain(numbers[:3], baseline=numbers[0]).labels.input_text(2, 1) == "missing"


@pytest.mark.filterwarnings("ignore:The set_(bad|over|under|extremes) function:PendingDeprecationWarning")  # of shap
@pytest.mark.filterwarnings("ignore:The NumPy global RNG:FutureWarning")
def test_what_else_shows_entries_as_the_table_has_them() -> None:
    e = fitted("exact").explain(NEW[:2], baseline=mixed().iloc[3])
    display = e.to_shap().display_data
    assert display[1].tolist()[4:6] == [NEW["place"].iloc[1], str(NEW["heated"].iloc[1])]
    assert display[1, 0] == NEW["area"].iloc[1]
    grouped = e.group({"where": ["place", "area"]})
    assert grouped.labels.input_text(0, grouped.feature_names.index("where")) is None
    assert grouped.labels.input_text(0, grouped.feature_names.index("heated")) == str(NEW["heated"].iloc[0])


def test_labels_that_do_not_fit_are_found_in_a_file(tmp_path: Path) -> None:
    """A file whose checksum is right, with labels for one row less, or of a word that it does not have."""
    e = fitted("exact").explain(NEW[:2], baseline=mixed().iloc[3])
    assert e.labels.inputs is not None
    for codes in (e.labels.inputs.codes[:1], e.labels.inputs.codes + 1000):
        labels = replace(e.labels, inputs=replace(e.labels.inputs, codes=codes))
        replace(e, labels=labels).save(tmp_path / "odd")
        with pytest.raises(ValueError, match=naming("odd", tuple(codes.shape))):
            gplens.Explanation.load(tmp_path / "odd")
    replace(e, labels=replace(e.labels, rows=("h0",))).save(tmp_path / "odd")
    with pytest.raises(ValueError, match=naming("odd", 1, 2)):
        gplens.Explanation.load(tmp_path / "odd")


def test_a_table_of_texts_is_no_baseline_of_a_model_of_numbers() -> None:
    frame = mixed()[["area", "price"]]
    model = gplens.Functions(lambda x: x.sum(1), features=2)
    texts = frame.assign(price="dear")
    with pytest.raises(ValueError, match=naming("'price'")):
        gplens.explain(model, frame[:1], baseline=gplens.baselines.Mean(texts), target=gplens.targets.Latent())
