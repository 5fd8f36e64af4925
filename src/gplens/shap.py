"""The public name of gplens.interop.shap."""

from gplens.interop.shap import Explainer

__all__ = ["Explainer"]
