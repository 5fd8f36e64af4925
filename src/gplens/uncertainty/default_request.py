"""The request that uncertainty=True stands for."""

from gplens.paths.integrand import Question
from gplens.uncertainty.requests import Diagonal, Full, Samples, Uncertainty
from gplens.uncertainty.spreads import SpreadQuestion

COUNT, SEED = 1000, 0
"""The number of draws, for attributions that are not Gaussian."""
JOINT = 64
"""The most attributions of an input whose joint distribution is computed; its cost grows with their square."""
DRAWN = 1000
"""The most attributions of an input that are drawn; for more, only standard deviations are computed."""
PATHS = 5
"""The most rows of a background for which draws are computed: they factorise the covariance of all paths to an input,
which takes seconds for twenty rows."""


def automatic_request(question: Question, features: int, baselines: int) -> Uncertainty:
    """Standard deviations and intervals, and the joint distribution if it is cheap.

    Full() if attributions are Gaussian, since everything else follows from their covariance; else Samples(1000,
    seed=0), joint for up to 64 attributions; Diagonal() if there are too many attributions or baselines for draws.
    """
    asked, mixture = SpreadQuestion(question, Diagonal()), question.expectation.draws_of(question.outputs)
    if asked.gaussian and mixture is None:
        return Full() if features <= JOINT else Diagonal()
    together = features * (len(question.outputs) if mixture is not None or asked.drawn_together else 1)
    if features * len(question.outputs) > DRAWN or baselines > PATHS:
        return Diagonal()
    return Samples(COUNT, SEED, joint=together <= JOINT)
