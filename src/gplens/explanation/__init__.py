"""The result of explain(): attributions and their spread, as text, files, frames and shap's explanations."""

from gplens.explanation.result import Explanation, Provenance
from gplens.explanation.spread import Spread

__all__ = ["Explanation", "Provenance", "Spread"]
