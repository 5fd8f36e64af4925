"""Explanations of BoFire's strategies and surrogates, and the return type of its `shap_importance`."""

from gplens.adapters.hosts import Extra

with Extra("bofire", "gplens.bofire"):
    from gplens.bofire.strategy_explanations import explain, explain_acquisition, shap_importance

__all__ = ["explain", "explain_acquisition", "shap_importance"]
