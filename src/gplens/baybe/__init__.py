"""Explanations of BayBE's campaigns, with the calls of its SHAPInsight."""

from gplens.adapters.hosts import Extra

with Extra("baybe", "gplens.baybe"):
    from gplens.baybe.insight import Insight

__all__ = ["Insight"]
