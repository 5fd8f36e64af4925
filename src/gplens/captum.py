"""The public name of gplens.interop.captum_attribution."""

from gplens.adapters.hosts import Extra

with Extra("captum", "gplens.captum"):
    from gplens.interop.captum_attribution import GaussianProcessIntegratedGradients

__all__ = ["GaussianProcessIntegratedGradients"]
