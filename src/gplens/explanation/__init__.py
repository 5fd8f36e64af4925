"""The result of explain(): attributions and their spread, as text, files, frames and shap's explanations."""

from gplens.explanation.importance import Importance
from gplens.explanation.interrupted import Interrupted
from gplens.explanation.provenance import Provenance
from gplens.explanation.ranks import RankProbabilities
from gplens.explanation.result import Explanation
from gplens.explanation.spread import Spread
from gplens.explanation.support import Support, SupportWarning

__all__ = [
    "Explanation",
    "Importance",
    "Interrupted",
    "Provenance",
    "RankProbabilities",
    "Spread",
    "Support",
    "SupportWarning",
]
