"""Explanations of tables in batches: one function from an Arrow table to an Arrow table, and files of any length."""

from gplens.adapters.hosts import Extra

with Extra("cli", "gplens.batch"):
    from gplens.batch.batch_options import Options
    from gplens.batch.explainer import Explainer
    from gplens.batch.local_engine import Outcome, explain_file

__all__ = ["Explainer", "Options", "Outcome", "explain_file"]
