"""What uncertainty=True computes."""

from gplens.paths.integrand import Question
from gplens.uncertainty.requests import Diagonal, Full, Samples, Uncertainty
from gplens.uncertainty.spreads import SpreadQuestion

COUNT, SEED = 1000, 0
"""Draws where attributions are not Gaussian."""
JOINT = 64
"""The most attributions that belong together whose joint distribution is computed: it grows with their square."""
DRAWN = 1000
"""The most attributions of an input that are drawn at all; beyond, their standard deviations are computed."""
PATHS = 5
"""The same of the rows of a background: draws factorise the covariance of all paths to an input together, which takes
seconds for twenty of them."""


def automatic_request(question: Question, features: int, baselines: int) -> Uncertainty:
    """Standard deviations and intervals, and the joint distribution where it costs little.

    Full() where attributions are Gaussian, since everything else follows from their covariance; else Samples(1000,
    seed=0), joint for up to 64 attributions. Diagonal() where there are too many attributions or baselines for that.
    """
    asked, mixture = SpreadQuestion(question, Diagonal()), question.expectation.draws_of(question.outputs)
    if asked.gaussian and mixture is None:
        return Full() if features <= JOINT else Diagonal()
    together = features * (len(question.outputs) if mixture is not None or asked.drawn_together else 1)
    if features * len(question.outputs) > DRAWN or baselines > PATHS:
        return Diagonal()
    return Samples(COUNT, SEED, joint=together <= JOINT)
