"""`gplens reproduce mnist` and `fashion` on small digits: other methods against autograd, the same numbers twice."""

from pathlib import Path

import pandas
import pytest
import torch
from digit_models import fitted, small_digits

from gplens.datasets import Dataset, Split
from gplens.estimators import GPClassifier, Training
from gplens.experiments import comparison, image_experiment, image_models
from gplens.experiments.report import Report, write_folder
from gplens.experiments.run import Messages
from gplens.experiments.study import Size

TINY = Size(images=2, orders=4, draws=10, steps=4, scored=3, scored_orders=3)


def four_digits() -> Split:
    data = small_digits()
    parts = (slice(0, 300), slice(500, 700))
    return Split(*(Dataset(data.X[part], data.y[part], data.feature_names, "Digits.") for part in parts))


def tiny(seed: int, quick: bool) -> GPClassifier:
    training = Training(steps=4, batch=100, stopping=None)
    return GPClassifier("rbf", inducing_points=8, scaling="table", training=training, random_state=seed, progress=False)


@pytest.fixture(scope="module")
def results() -> list[Report]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_experiment, "QUICK", TINY)
        patch.setattr(image_experiment, "MODELS", {next(iter(image_models.MODELS)): tiny})
        names = ["nought", "one", "two", "three"]
        return [image_experiment.run("Digits", four_digits, names, 5, True, Messages(show=False)) for _ in range(2)]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers(results: list[Report]) -> None:
    one, two = results
    assert set(one.tables) == {"images", "pixels", "curves", "scores"}
    for name, table in one.tables.items():
        pandas.testing.assert_frame_equal(table, two.tables[name], check_exact=True)


def test_the_folder_has_what_the_page_refers_to(results: list[Report], tmp_path: Path) -> None:
    write_folder(tmp_path / "digits", results[0], overwrite=False)
    page = (tmp_path / "digits" / "README.md").read_text()
    files = {path.name for path in (tmp_path / "digits").iterdir()}
    assert {"paper.png", "curves.csv", "settings.json"} <= files
    assert all(name in page for name in ("(paper.png)", "gradient x input", "Captum IG", "nought"))


def test_attributions_and_curves_are_complete(results: list[Report]) -> None:
    tables = results[0].tables
    assert tables["images"]["miss"].abs().max() < 1e-6
    sums = tables["pixels"].groupby(["model", "row"])["attribution"].sum()
    ends = tables["curves"].query("curve == 'ordered'").groupby(["model", "row"])["difference"].last()
    pandas.testing.assert_series_equal(sums, ends, rtol=0, atol=1e-6, check_names=False)
    gaps = tables["scores"].groupby("method")["gap"].max()
    assert gaps["gplens"] < 1e-6 < gaps["Captum IG"] < gaps["gradient x input"]


def test_gradient_times_input_is_autograds_of_gpytorch() -> None:
    """Of the softmax averaged over 50,000 draws, to what these allow."""
    data, model = small_digits(), fitted(True)
    x, label = data.X[500:501].clone().requires_grad_(), int(data.y[500])
    f = model.model_(x)
    z = torch.randn(25_000, 1, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    z = torch.cat([z, -z])
    probability = torch.softmax(f.mean + f.variance.sqrt() * z, dim=-1).mean(0)[0, label]
    wanted = x.detach() * torch.autograd.grad(probability, x)[0]
    process = model.posterior_
    found = comparison.gradient_times_input(process, data.X[500:501], torch.tensor([label]))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-2 * float(wanted.abs().max()))


def test_captum_and_gplens_agree_to_the_draws_of_captum() -> None:
    data, model = small_digits(), fitted(False)
    X, labels = data.X[500:503], data.y[500:503].long()
    exact = comparison.integrated_gradients(model.posterior_, X, labels)
    found = comparison.captum(model, X, labels, seed=0)
    assert float((found - exact).abs().max() / exact.abs().max()) < 0.1
    assert not torch.equal(found, exact)


def test_a_missing_captum_is_said_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"captum.*\[captum\]"):
        image_experiment.run_mnist(0, True, Messages(show=False))
