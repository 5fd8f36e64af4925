"""Ablation: states against GPyTorch's prediction of the ablated image itself, curves against their definition."""

import itertools

import pytest
import torch
from digit_models import fitted, printed, small_digits

import gplens
from gplens.expectations.softmax.integral import softmax_moments
from gplens.experiments import ablation as module
from gplens.experiments.ablation import Ablation, score
from gplens.experiments.comparison import integrated_gradients
from gplens.experiments.image_models import on_pixels
from gplens.experiments.study import Size, study
from gplens.plots.removal import even_counts, order_of
from rounding import assert_rounded

SHARED = pytest.mark.parametrize("shared", [True, False])


def image(row: int) -> tuple[torch.Tensor, torch.Tensor, int]:
    data = small_digits()
    return data.X[row], torch.zeros(64, dtype=torch.float64), int(data.y[row])


def ablation(shared: bool, row: int = 500, dtype: torch.dtype = torch.float64) -> Ablation:
    x, x0, label = image(row)
    return Ablation.of(fitted(shared).posterior_, x, x0, label, dtype=dtype)


def ablated(x: torch.Tensor, replaced: torch.Tensor) -> torch.Tensor:
    """The images themselves: black where a pixel that was not is replaced."""
    images = x.repeat(len(replaced), 1)
    free = (x != 0).nonzero()[:, 0]
    for i, own in enumerate(replaced):
        images[i, free[own]] = 0
    return images


@SHARED
def test_states_are_gpytorchs_predictions_of_the_ablated_images(shared: bool) -> None:
    """Marginals of GPyTorch for the images; the integral over them is tested elsewhere, and here against draws."""
    (x, _, label), own = image(500), ablation(shared)
    replaced = torch.rand(7, own.pixels, generator=torch.Generator().manual_seed(0)) < 0.5
    images = ablated(x, replaced)
    with torch.no_grad():
        f = fitted(shared).model_(images)
        wanted = softmax_moments(f.mean, f.variance).value[:, label]
    found = own.probability(replaced)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6)  # GPyTorch's own rounding
    torch.testing.assert_close(found, printed(fitted(shared), images)[:, label], rtol=0, atol=3e-3)
    torch.testing.assert_close(ablation(shared, dtype=torch.float32).probability(replaced), found, rtol=0, atol=1e-4)


@SHARED
def test_curves_end_on_the_sum_of_the_attributions(shared: bool) -> None:
    size = Size(orders=20, draws=20, steps=8)
    x, x0, label = image(501)
    process = fitted(shared).posterior_
    shown = study(process, x, 501, label, size, 0, torch.float64)
    assert abs(shown.miss) < 1e-6
    both = printed(fitted(shared), torch.stack([x, x0]))[:, label]
    assert float(shown.ordered[-1]) == pytest.approx(float(both[0] - both[1]), abs=3e-3)
    assert float(shown.random[-1]) == pytest.approx(float(shown.ordered[-1]), abs=1e-9)
    assert_rounded(
        torch.stack([shown.ordered[0], shown.random[0]]), torch.zeros(2), roundings=4
    )  # an average of equal terms
    assert shown.sign_change == int((shown.values > 0).sum())
    assert bool((shown.low <= shown.high).all())
    assert bool((shown.values[x == 0] == 0).all())


def test_the_order_goes_from_the_most_positive_to_the_most_negative_pixel() -> None:
    """State by state from the definition, each predicted as an image of its own."""
    (x, _, label), own = image(502), ablation(True, 502)
    values = integrated_gradients(fitted(True).posterior_, x[None], torch.tensor([label]))[0]
    free = values[x != 0]
    found = own.removed(order_of(free), torch.arange(own.pixels + 1))
    picture, wanted = x.clone(), [x.clone()]
    for pixel in sorted((x != 0).nonzero()[:, 0].tolist(), key=lambda k: -float(values[k])):
        picture[pixel] = 0
        wanted.append(picture.clone())
    with torch.no_grad():
        f = fitted(True).model_(torch.stack(wanted))
    torch.testing.assert_close(found, softmax_moments(f.mean, f.variance).value[:, label], rtol=0, atol=1e-6)
    back = own.inserted(order_of(free), torch.tensor([0, own.pixels]))
    torch.testing.assert_close(back, found[[-1, 0]], rtol=0, atol=1e-9)


def test_random_orders_average_to_the_mean_over_all_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image with six pixels has 20 subsets of three; blocks do not matter."""
    x, x0, label = image(503)
    dark = x.clone()
    dark[torch.cumsum((x != 0).int(), 0) > 6] = 0
    own = Ablation.of(fitted(True).posterior_, dark, x0, label)
    subsets = [[i in chosen for i in range(6)] for chosen in itertools.combinations(range(6), 3)]
    states = own.probability(torch.tensor(subsets))
    found = own.removed_at_random(400, torch.tensor([0, 3, 6]), seed=0)
    assert float(found[1]) == pytest.approx(float(states.mean()), abs=4 * float(states.std()) / 20)
    assert float(found[1]) != pytest.approx(float(states[0]), abs=1e-6)
    monkeypatch.setattr(module, "BLOCK", 500)
    torch.testing.assert_close(own.removed_at_random(400, torch.tensor([0, 3, 6]), seed=0), found, rtol=0, atol=1e-12)


@SHARED
def test_fixed_pixels_can_be_left_out_of_the_model(shared: bool) -> None:
    """Prediction, attributions and deviations of the whole model, from the pixels that change."""
    x, x0, label = image(504)
    process, free = fitted(shared).posterior_, x != 0
    options = {
        "baseline": 0.0,
        "likelihood": gplens.links.Softmax(),
        "outputs": [label],
        "uncertainty": gplens.Diagonal(),
    }
    whole, part = (
        gplens.explain(process, x[None], **options),
        gplens.explain(on_pixels(process, x0, free), x[None, free], **options),
    )
    torch.testing.assert_close(part.prediction, whole.prediction, rtol=0, atol=1e-10)
    torch.testing.assert_close(part.values, whole.values[..., free], rtol=0, atol=1e-10)
    assert part.std is not None
    assert whole.std is not None
    torch.testing.assert_close(part.std, whole.std[..., free], rtol=1e-6, atol=1e-9)


def test_counts_are_even_and_end_at_all_pixels() -> None:
    assert even_counts(100, 4).tolist() == [0, 25, 50, 75, 100]
    assert even_counts(3, 24).tolist() == [0, 1, 2, 3]


def test_scores_of_a_known_order() -> None:
    """The best order is no worse than random and the reverse of it no better, in every metric."""
    x, _, label = image(505)
    own = ablation(True, 505)
    counts = even_counts(own.pixels, 8)
    random = own.removed_at_random(200, counts, 0)
    values = integrated_gradients(fitted(True).posterior_, x[None], torch.tensor([label]))[0][x != 0]
    good, bad = score(own, values, random, counts), score(own, -values, random, counts)
    assert good.area > 0 > bad.area
    assert good.deletion < bad.deletion
    assert good.insertion > bad.insertion
    assert (good.above, bad.above) == (True, False)
