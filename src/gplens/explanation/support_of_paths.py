"""The support of an explanation, computed along its paths and at its baselines."""

from jaxtyping import Float
from torch import Tensor

from gplens.expectations.deviations import deviation_at
from gplens.explanation.support import Support
from gplens.paths.averaging import Background
from gplens.paths.integrals import Attribution
from gplens.paths.integrand import Question, Rule
from gplens.paths.prior_part import Integrate, support_and_prior_part
from gplens.processes.data_distance import distance_to_data


def support_of_paths(
    question: Question,
    rule: Rule,
    integrate: Integrate,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    background: Background,
    attribution: Attribution,
) -> Support:
    """The support along the paths, the parts of attributions where it is low, and how well the baseline is supported.

    For a background, distance and deviation are averages over its rows.
    """
    along, prior_part = support_and_prior_part(question, rule, integrate, x, baselines, background)
    every, process = baselines.flatten(0, 1), question.process

    def of_inputs(tensor: Tensor | None) -> Tensor | None:
        if tensor is None:
            return None
        mean = background.mean(tensor.unflatten(0, baselines.shape[:2]))
        return mean.expand(len(x), *mean.shape[1:])

    distance = of_inputs(distance_to_data(process, every))
    deviation = of_inputs(deviation_at(process, question.expectation, question.outputs, every))
    return Support(along, prior_part, attribution.integral.values - prior_part, distance, deviation)
