"""Explanations of BayBE's campaigns, called as its SHAPInsight is."""

from gplens.adapters.hosts import Extra

with Extra("baybe", "gplens.baybe"):
    from gplens.baybe.insight import Insight

__all__ = ["Insight"]
