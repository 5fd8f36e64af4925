"""The exception after Ctrl-C, with the finished part of the explanation."""

from typing import final

from gplens.explanation.result import Explanation


@final
class Interrupted(KeyboardInterrupt):
    """Raised after Ctrl-C, or the stop button of a notebook, in `gplens.explain`, with the explanation so far.

    It is a KeyboardInterrupt, so that a program ends as after any Ctrl-C. At a prompt or in a notebook, after the
    exception was shown, `sys.last_value.explanation` has the finished inputs.

    Example:
        >>> try:
        ...     explanation = gplens.explain(gp, X, baseline=0.0, likelihood=gplens.links.Identity())
        ... except gplens.Interrupted as stopped:
        ...     explanation = stopped.explanation
        >>> len(explanation)
        5
    """

    explanation: Explanation
    """The explanation of the first inputs, complete in every part."""

    def __init__(self, explanation: Explanation, inputs: int) -> None:
        self.explanation = explanation
        super().__init__(
            f"explain() was interrupted after {len(explanation):,} of {inputs:,} inputs. Their explanation is the "
            "attribute `explanation` of this exception: write `except gplens.Interrupted as stopped:` and use "
            "stopped.explanation, or take sys.last_value.explanation at a prompt or in a notebook; then explain "
            f"X[{len(explanation)}:]."
        )
