"""What is left of an explanation that was interrupted."""

from typing import final

from gplens.explanation.result import Explanation


@final
class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or the stop button of a notebook, during `gplens.explain`: the finished inputs are `explanation`.

    It is a KeyboardInterrupt, so that programs end as they would otherwise. At a prompt or in a notebook, where the
    exception was shown, `sys.last_value.explanation` has what was done.

    Example:
        >>> try:
        ...     explanation = gplens.explain(gp, X, baseline=0.0, likelihood=gplens.links.Identity())
        ... except gplens.Interrupted as stopped:
        ...     explanation = stopped.explanation
        >>> len(explanation)
        5
    """

    explanation: Explanation
    """Of the first inputs, complete in every part."""

    def __init__(self, explanation: Explanation, inputs: int) -> None:
        self.explanation = explanation
        super().__init__(
            f"explain() was interrupted after {len(explanation):,} of {inputs:,} inputs. Their explanation is the "
            "attribute `explanation` of this exception: write `except gplens.Interrupted as stopped:` and use "
            "stopped.explanation, or take sys.last_value.explanation at a prompt or in a notebook; then explain "
            f"X[{len(explanation)}:]."
        )
