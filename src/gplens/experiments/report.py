"""The report of an experiment: a page, tables, figures and settings, and the folder that holds them."""

import json
import os
import platform
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, final

import pandas
import torch
from matplotlib.figure import Figure

SETTINGS = "settings.json"
"""The file by which a folder is recognised as that of an experiment."""
PACKAGES = ("gplens", "torch", "gpytorch", "scikit-learn", "numpy", "pandas", "matplotlib", "captum")


@final
@dataclass(frozen=True, eq=False)
class Report:
    """Everything that goes into the folder of an experiment."""

    page: str
    """Markdown, which refers to figures and tables by their file names."""
    tables: Mapping[str, pandas.DataFrame]
    """All numbers, by the name of their CSV file."""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """Figures, by the name of their PNG file."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the numbers depend on, apart from the versions of packages."""


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that must not be replaced. Called before the work, not after it.

    Raises:
        FileExistsError: the folder exists and `overwrite` is False, or it is not that of an experiment.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not overwrite:
        raise FileExistsError(
            f"expected a new folder, got {folder}, which exists; choose another --output, or add --overwrite."
        )
    if not (folder / SETTINGS).is_file():
        raise FileExistsError(
            f"expected the folder of an experiment, got {folder}, which has no {SETTINGS}; choose another --output."
        )


def write_folder(folder: Path, report: Report, *, overwrite: bool) -> None:
    """Write a report to a temporary folder beside `folder`, which then takes its name; all or nothing."""
    check_folder(folder, overwrite=overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = (folder.with_name(f".{folder.name}.{os.getpid()}.{part}") for part in ("new", "old"))
    try:
        new.mkdir()
        _fill(new, report)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        for temporary in (new, old):
            shutil.rmtree(temporary, ignore_errors=True)


def _fill(folder: Path, report: Report) -> None:
    (folder / "README.md").write_text(report.page, encoding="utf-8")
    for name, table in report.tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    for name, figure in report.figures.items():
        figure.savefig(folder / f"{name}.png", dpi=120)
    settings = {**report.settings, "versions": versions()}
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def versions() -> dict[str, Any]:
    """Versions of packages and of Python, the machine, the number of threads, and the time."""
    packages = {name: _version(name) for name in PACKAGES}
    machine = {"python": platform.python_version(), "machine": platform.machine(), "threads": torch.get_num_threads()}
    return {**packages, **machine, "written": datetime.now(UTC).isoformat(timespec="seconds")}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
