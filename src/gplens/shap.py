"""The public name of gplens.interop.shap_explainer."""

from gplens.interop.shap_explainer import Explainer, relabel

__all__ = ["Explainer", "relabel"]
