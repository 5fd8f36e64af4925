"""Heat maps: hues by sign, opacity by size, fading by P(|z| < |a|/sd)."""

from math import erf, sqrt

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from plotted import heading, made

from gplens import plots
from gplens.plots.colours import LOWERS, RAISES

VALUES = [[4.0, -2.0, 0.0, 1.0, -1.0, 0.5]]
STD = [[1.0, 4.0, 0.0, 0.0, 2.0, 0.5]]


def overlay(ax: Axes) -> np.ndarray:
    """The RGBA image over the picture."""
    return np.asarray(ax.images[-1].get_array())


def test_hues_are_those_of_the_sign_and_opacity_grows_with_the_size() -> None:
    ax = plots.image(made(VALUES), shape=(2, 3))
    drawn = overlay(ax).reshape(6, 4)
    np.testing.assert_allclose(drawn[0, :3], to_rgb(RAISES))
    np.testing.assert_allclose(drawn[1, :3], to_rgb(LOWERS))
    assert drawn[2, 3] == 0
    alpha = drawn[:, 3]
    assert alpha[0] == pytest.approx(1.0, abs=1e-3)
    assert alpha[0] > alpha[1] > alpha[3] == alpha[4] > alpha[5] > 0


def test_the_picture_is_behind() -> None:
    e = made(VALUES)
    ax = plots.image(e, shape=(2, 3))
    picture = np.asarray(ax.images[0].get_array()).ravel()
    shares = e.inputs[0].numpy() / float(e.inputs[0].max())
    np.testing.assert_allclose(picture / picture.max(), shares)


def test_fading_multiplies_the_opacity_by_the_certainty_of_the_sign() -> None:
    e = made(VALUES, STD)
    plain, faded = (overlay(plots.image(e, shape=(2, 3), fade=fade)).reshape(6, 4)[:, 3] for fade in (False, True))
    for i, (value, std) in enumerate(zip(VALUES[0], STD[0], strict=True)):
        certainty = erf(abs(value) / std / sqrt(2)) if std else float(value != 0)
        assert faded[i] == pytest.approx(plain[i] * certainty)
    assert "not sure" in heading(plots.image(e, shape=(2, 3), fade=True))


def test_fading_needs_deviations_and_a_shape_must_fit() -> None:
    with pytest.raises(ValueError, match="Diagonal"):
        plots.image(made(VALUES), shape=(2, 3), fade=True)
    with pytest.raises(ValueError, match="6"):
        plots.image(made(VALUES))
    with pytest.raises(ValueError, match="6"):
        plots.image(made(VALUES), shape=(4, 2))


def test_an_image_without_attributions_is_drawn() -> None:
    assert np.all(overlay(plots.image(made([[0.0] * 4])))[..., 3] == 0)
