"""Several candidates that were suggested together, explained one after the other (MATH 11.10)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gplens.adapters.tables import read_table
from gplens.explain import explain
from gplens.explanation.result import Explanation


def explain_batch(
    acquisition: Any,
    candidates: Any,
    *,
    baseline: Any,
    tolerance: float | None = None,
    feature_names: Sequence[str] | None = None,
) -> tuple[Explanation, ...]:
    """Why each of q candidates was suggested, given the ones before it: an Explanation for each.

    Candidate i is explained with the candidates before it as pending points, which is how BoTorch's
    `optimize_acqf(..., sequential=True)` chooses it:  a(x_i, x_1, ..., x_(i-1)) - a(x_0, x_1, ..., x_(i-1))  (11.10).
    From the second candidate on a is no function of the posterior at x_i alone, and its gradients come from autograd.

    Args:
        acquisition: an acquisition function of BoTorch with `set_X_pending`, which analytic ones refuse. Its own
            pending points stay before the candidates, and are the only ones again afterwards.
        candidates: (q, d), in the order in which they were chosen.
        baseline, tolerance, feature_names: as for `gplens.explain`.

    Returns:
        An Explanation for each candidate, in their order.

    Raises:
        ValueError, TypeError: as `gplens.explain`; the acquisition function has its own pending points again.

    Example:
        >>> from botorch.acquisition import qUpperConfidenceBound
        >>> from botorch.models import SingleTaskGP
        >>> from botorch.sampling import SobolQMCNormalSampler
        >>> sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
        >>> acquisition = qUpperConfidenceBound(SingleTaskGP(X, y[:, None]), beta=0.2, sampler=sampler)
        >>> first, second = gplens.explain_batch(acquisition, [[0.2, 0.9], [0.8, 0.7]], baseline=0.5, tolerance=1e-3)
        >>> first.channels is not None, second.channels is None
        (True, True)
    """
    table = read_table(candidates, "candidates")
    names = table.feature_names(feature_names, None)
    x, pending = table.values, getattr(acquisition, "X_pending", None)
    explanations = []
    try:
        for i in range(len(x)):
            if i:
                acquisition.set_X_pending(_joined(pending, x[:i]))
            options: dict[str, Any] = {"baseline": baseline, "tolerance": tolerance, "feature_names": names}
            explanations.append(explain(acquisition, x[i : i + 1], **options))
    finally:
        if len(x) > 1:
            acquisition.set_X_pending(pending)
    return tuple(explanations)


def _joined(pending: Tensor | None, earlier: Tensor) -> Tensor:
    return earlier if pending is None else torch.cat([pending, earlier.to(pending)])
