"""Explanations of any number of Parquet files, and fits to them, on one machine or on a Ray cluster."""

from gplens.adapters.hosts import Extra

with Extra("cli", "gplens.scale"):
    from gplens.scale.dataset_fit import fit_dataset, held_out_rows
    from gplens.scale.dataset_run import DatasetOutcome, explain_dataset
    from gplens.scale.engines import Engine, Local
    from gplens.scale.ray_engine import Ray
    from gplens.scale.work_list import WorkList, read_work_list

__all__ = [
    "DatasetOutcome",
    "Engine",
    "Local",
    "Ray",
    "WorkList",
    "explain_dataset",
    "fit_dataset",
    "held_out_rows",
    "read_work_list",
]
