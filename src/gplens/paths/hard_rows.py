"""The warning for inputs that did not converge or took very many nodes: which, why, and what to do."""

import warnings
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.paths.integrals import Integral
from gplens.paths.integrand import Question, Rule

MANY = 20_000
"""The number of nodes of a path above which it is mentioned: a smooth path of one lengthscale takes 11."""
LONG = 100.0
"""The path length in lengthscales that is a sufficient explanation of many nodes."""
TURNS = 10.0
"""The change of the mean, in units of the link's resolution (4.10), that is a sufficient explanation."""
SEE_VALUES = "See explanation.converged and explanation.error."
SEE_SPREAD = "See explanation.spread.converged and explanation.spread.error."
LOOSER_SPREAD = "a request with a larger tolerance, such as uncertainty=gplens.Full(tolerance=1e-2)"
NODES = 129
"""The number of places of a path at which the mean is compared with the resolution of the link."""


class ConvergenceWarning(UserWarning):
    """Some results of `gplens.explain` missed their tolerance, or took very many nodes.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", gplens.ConvergenceWarning)  # a row that missed its tolerance is an error
        ...     e = gplens.explain(gp, X, baseline=0.0, likelihood=gplens.links.Identity())
        >>> bool(e.converged.all())
        True
    """


def warn_of_hard_rows(
    question: Question,
    rule: Rule,
    integral: Integral,
    of_spread: Bool[Tensor, " b"] | None,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    names: Sequence[str],
) -> None:
    """One warning for all inputs of which some are hard, with the cause for the first one."""
    many = integral.nodes > MANY * baselines.shape[1]
    missed = None if integral.converged is None else ~integral.converged
    kinds = [
        ("the attributions of {} did not converge", missed, SEE_VALUES),
        (f"{{}} took more than {MANY:,} nodes", many if missed is None else many & ~missed, ""),
        ("the standard deviations of {} did not converge", None if of_spread is None else ~of_spread, SEE_SPREAD),
    ]
    hard = [(text, rows.nonzero()[:, 0], see) for text, rows, see in kinds if rows is not None and bool(rows.any())]
    first, only_spread = int(hard[0][1][0]), hard[0][2] == SEE_SPREAD
    facts = "; ".join(text.format(_counted(rows, len(x))) for text, rows, _ in hard)
    looser = f"pass {LOOSER_SPREAD}" if only_spread else f"pass a larger tolerance than {question.tolerance:.0e}"
    if not rule.adaptive and not only_spread:
        looser = "leave out rule=, so that nodes are added where they are needed"
    cause = _cause(question, x[first], baselines[0 if len(baselines) == 1 else first], names, looser)
    nodes = "" if only_spread else f", which took {int(integral.nodes[first]):,} nodes"
    see = " ".join(see for _, _, see in hard if see)
    warnings.warn(f"{facts}. Input {first}{nodes}: {cause} {see}".rstrip(), ConvergenceWarning, stacklevel=3)


def _counted(rows: Tensor, of: int) -> str:
    return f"{len(rows):,} of {of:,} input{'' if of == 1 else 's'} (the first is {int(rows[0])})"


def _cause(
    question: Question, x: Float[Tensor, " d"], x0: Float[Tensor, "s d"], names: Sequence[str], looser: str
) -> str:
    """Sentences on what makes the longest path of an input hard, and what to do."""
    process = question.process
    x0 = x0 if question.switches is None else question.switches.held(x0, x)
    lengths = process.length(Line(x0, x - x0, x.new_zeros(len(x0), 0)))
    start, length = x0[int(lengths.argmax())], float(lengths.max())
    if length > LONG:
        step = torch.diag(x - start)
        by_feature = process.length(Line(start[None], step, x.new_zeros(len(x), 0)))
        k = int(by_feature.argmax())
        return (
            f"its path is {length:.3g} lengthscales long, {float(by_feature[k]):.3g} of them in feature "
            f"{names[k] if len(names) == len(x) else k!r}. Choose a baseline that is nearer, or fit the model again "
            f"with larger lengthscales; or {looser}."
        )
    if question.expectation.replicates is not None:
        return f"its target is an average over draws, whose standard error falls slowly; {looser}."
    turns = _turns(question, start, x)
    if turns > TURNS:
        return (
            f"the link is steep: the latent mean moves by {turns:.3g} times the distance over which its expectation "
            f"bends. A larger variance of f or a larger noise makes it less steep; or {looser}."
        )
    if not process.smooth:
        return (
            f"the kernel is rough, or known by its values alone, so that its gradient has kinks on the path; {looser}, "
            "or fit the model with a smoother kernel."
        )
    return f"the target bends sharply, or parts of opposite sign cancel to many digits; {looser}."


def _turns(question: Question, x0: Float[Tensor, " d"], x: Float[Tensor, " d"]) -> float:
    """The total change of the latent means along a path, in units of the resolution of the target (4.10)."""
    t = torch.linspace(0, 1, NODES, dtype=x.dtype)[None]
    marginals = question.process.along(Line(x0[None], (x - x0)[None], t))
    resolution = question.expectation.resolution(marginals)
    if resolution is None:
        return 0.0
    steps = marginals.m.diff(dim=2).abs() / torch.minimum(resolution[..., 1:], resolution[..., :-1])
    return float(steps.nan_to_num(nan=0.0, posinf=0.0).sum(2).max())
