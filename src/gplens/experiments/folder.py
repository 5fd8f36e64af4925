"""The folder of an experiment, written whole or not at all."""

import json
import os
import platform
import shutil
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from gplens.experiments.result import Result

SETTINGS = "settings.json"
"""By which a folder is known to be one of an experiment."""
PACKAGES = ("gplens", "torch", "gpytorch", "scikit-learn", "numpy", "pandas", "matplotlib", "captum")


def check(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that must not be replaced; before the work, not after it."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not overwrite:
        raise FileExistsError(f"{folder} exists. Choose another --output, or add --overwrite to replace it.")
    if not (folder / SETTINGS).is_file():
        raise FileExistsError(f"{folder} is no folder of an experiment (it has no {SETTINGS}); it is not replaced.")


def write(folder: Path, result: Result, *, overwrite: bool) -> None:
    """Page, tables, figures and settings, beside the folder first; then it takes that name in one step."""
    check(folder, overwrite=overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside, old = (folder.with_name(f".{folder.name}.{os.getpid()}.{part}") for part in ("new", "old"))
    try:
        beside.mkdir()
        _fill(beside, result)
        if folder.exists():
            folder.rename(old)
        beside.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        for left in (beside, old):
            shutil.rmtree(left, ignore_errors=True)


def _fill(folder: Path, result: Result) -> None:
    (folder / "README.md").write_text(result.page, encoding="utf-8")
    for name, table in result.tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    for name, figure in result.figures.items():
        figure.savefig(folder / f"{name}.png", dpi=120)
    settings = {**result.settings, "versions": versions()}
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def versions() -> dict[str, Any]:
    """What computed the numbers, and when."""
    found = {name: _version(name) for name in PACKAGES}
    machine = {"python": platform.python_version(), "machine": platform.machine(), "threads": torch.get_num_threads()}
    return {**found, **machine, "written": datetime.now(UTC).isoformat(timespec="seconds")}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
