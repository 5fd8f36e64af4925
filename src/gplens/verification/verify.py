"""`gplens.verify`: is the explanation of this model right?"""

from collections.abc import Callable
from typing import Any

import torch

from gplens.verification.comparisons import (
    check_antisymmetry,
    check_completeness,
    check_draws,
    check_gradients,
    check_predictions,
    check_second_completeness,
)
from gplens.verification.host import Host, host_of
from gplens.verification.paths import Paths, by_output
from gplens.verification.verdicts import Check, Verification


def verify(
    model: Any,
    X: Any,
    *,
    baseline: Any = None,
    likelihood: Any = None,
    rows: int = 4,
    features: int = 6,
    draws: int = 4000,
    seed: int = 0,
) -> Verification:
    """Check explanations of a fitted model by means that share nothing with their computation.

    The identities: completeness (4.4), antisymmetry, the second completeness law (5.3). Against the model's own
    library: predictions, central differences of predictions integrated along the path, draws of its latent functions.
    Paths are those of `explain`: columns with a period go the shorter way round.

    Args:
        model, likelihood: as for `gplens.explain`; the model itself, not what `gplens.read` returned.
        X: inputs, of which some are checked.
        baseline: as for `gplens.explain`; the background that an estimator keeps if None. Of a background, each input
            is checked against one row.
        rows: the number of inputs that are checked, evenly spaced.
        features: the number of features of each input, those with the largest attributions, whose gradients are
            checked; draws are compared for the first two inputs and up to three features.
        draws: the number of draws of the model's latent functions.
        seed: of the draws.

    Returns:
        A Verification: true if no check failed. Printed, it is a table with the numbers. Checks that this model does
        not allow say why.

    Raises:
        ValueError, TypeError: as `gplens.explain` does, if the model cannot be explained.

    Example:
        >>> verification = gplens.verify(gp, X[1:], baseline=0.0, likelihood=gplens.links.Identity(), rows=1, draws=500)
        >>> verification.passed
        True
    """
    paths = Paths.of(model, X, baseline, likelihood, rows)
    host = paths.host(host_of(model, likelihood))
    e = paths.explain()
    if host.predict is not None and host.in_blocks(paths.x[:1]).shape[1] != by_output(e.values, e).shape[1]:
        host = Host(None, host.error, reason="the host predicts another number of outputs than are explained")
    some = paths.first(2)
    with torch.inference_mode(False), torch.no_grad():
        checks = [
            _made("predictions", host, lambda: check_predictions(host, paths, e)),
            _made("completeness", host, lambda: check_completeness(host, paths, e)),
            check_antisymmetry(paths, e),
            _made("gradients", host, lambda: check_gradients(host, paths, e, features)),
            _made("second completeness", host, lambda: check_second_completeness(host, paths, seed), joint=True),
        ]
        of_draws = _drawn(host, lambda: check_draws(host, some, min(features, 3), draws, seed))
    return Verification(type(model).__name__, len(paths.x), (*checks, *of_draws))


def _made(name: str, host: Host, check: Callable[[], Check], *, joint: bool = False) -> Check:
    """A check, or why it cannot be made: the host cannot be asked, or error bars of this target are refused."""
    if host.predict is None or (joint and host.joint is None):
        return Check(name, "", None, None, host.reason)
    if not joint:
        return check()
    try:
        return check()
    except ValueError as cause:
        return Check(name, "", None, None, str(cause))


def _drawn(host: Host, check: Callable[[], tuple[Check, Check]]) -> tuple[Check, ...]:
    names, reason = ("deviations", "coverage"), host.reason
    if host.predict is not None and host.joint is not None:
        try:
            return check()
        except ValueError as cause:
            reason = str(cause)
    return tuple(Check(name, "", None, None, reason) for name in names)
