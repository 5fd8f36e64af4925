"""The error bars of some rows by the computation that their paths need: plain, summed, over a background, switching."""

from dataclasses import replace

from jaxtyping import Float
from torch import Tensor

from gplens.explanation.spread import Spread
from gplens.paths.averaging import Background
from gplens.uncertainty.answers import check_request, spread_of
from gplens.uncertainty.backgrounds import check_background, spread_over_background
from gplens.uncertainty.requests import Uncertainty
from gplens.uncertainty.share_coordinates import ShareCoordinates
from gplens.uncertainty.sums import check_sums, spread_of_sums
from gplens.uncertainty.switch_spreads import check_switch_request, spread_of_switches


def check_asked(shares: ShareCoordinates, request: Uncertainty, baselines: int) -> None:
    """Refuse error bars that cannot be computed, before anything is computed."""
    if shares.question.switches is not None:
        check_switch_request(shares.question, request)
    elif shares.sets is None:
        check_request(shares.question, request)
    else:
        check_sums(shares.question, request, shares.sets)
    check_background(shares.original, request, baselines)


def asked_spread(
    shares: ShareCoordinates,
    request: Uncertainty,
    x: Float[Tensor, "p d"],
    baselines: Float[Tensor, "#p s d"],
    values: Float[Tensor, "p o d"],
    background: Background,
) -> Spread:
    """The spread of the attributions `values`, or of their sums over sets of features."""
    question, sets = shares.question, shares.sets
    x, baselines, values = shares.points(x), shares.points(baselines), shares.values(values)
    background = replace(background, sets=sets)
    if question.switches is not None:
        return spread_of_switches(question, request, x, baselines, values, background)
    if baselines.shape[1] > 1:
        return spread_over_background(question, request, x, baselines, values, background)
    asked = (question, request, x, baselines[:, 0], values)
    return spread_of(*asked) if sets is None else spread_of_sums(*asked, sets)
