"""Analyses for Ax: `client.compute_analyses([AttributionAnalysis()])` returns their cards."""

from gplens.adapters.hosts import Extra

with Extra("ax", "gplens.ax"):
    from gplens.ax.acquisition_analysis import AcquisitionAnalysis
    from gplens.ax.attribution_analysis import AttributionAnalysis

__all__ = ["AcquisitionAnalysis", "AttributionAnalysis"]
