"""make bench: every figure a ratio measured in one run, next to the accuracy that each side reached.

python benchmarks/run.py                        everything, written to benchmarks/results.md
python benchmarks/run.py --only bikes mnist     these parts alone, printed only
python benchmarks/run.py --cache FOLDER         trained models are kept there, not in the cache folder of gplens
"""

import argparse
import platform
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import captum
import gpytorch
import torch

import gplens
from rows import HEADER, Row
from synthetic_table import synthetic
from trained import Trained, load
from trained_table import PARTS, models, threads

RESULTS = Path(__file__).parent / "results.md"
EVERY_PART = (*PARTS, "threads", "synthetic")
HEAD = """# Benchmarks

Measured by `make bench` on {date}, one thread, Python {python}, {used}.

Ratios are medians of interleaved turns after a warm-up (smallest to largest); a turn of less than half a second is
repeated until then, and counts with its mean. Errors are relative to the largest
attribution of a run at a tolerance of 1e-11 (1e-10 for classes).

## Trained models

The rows are held out from training, the baseline is the average row (the black image, the centre of the cube). Captum
runs over the autograd of the host. `wanted` is the aim that was set for each line; - where none was set.

{models}

"""
SECOND = """
## Synthetic models

Random posteriors, whose paths are about one lengthscale long. Sizes grow in processes of their own; what is printed
of memory is the peak beside inputs and result; growth in time is counted from the second size,
where fixed costs no longer show.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure speed and accuracy.")
    parser.add_argument("--only", nargs="+", choices=EVERY_PART, default=(), metavar="PART", help=f"{EVERY_PART}")
    parser.add_argument("--cache", type=Path, help="the folder of trained models (default: the cache folder of gplens)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.only:
        print(HEADER, flush=True)
        for part in options.only:
            trained = load(part, options.cache) if part in PARTS else None
            for _ in measured(part, trained, options.cache):
                pass
        return
    everything(options.cache)


def everything(cache: Path | None) -> None:
    """All parts; the page is written after each line, so that a run that is stopped leaves its rows."""
    versions = {"gplens": gplens, "torch": torch, "GPyTorch": gpytorch, "Captum": captum}
    used = ", ".join(f"{name} {package.__version__}" for name, package in versions.items())
    trained = {name: load(name, cache) for name in PARTS}
    scores = models(list(trained.values()))
    page = HEAD.format(date=date.today(), python=platform.python_version(), used=used, models=scores) + HEADER + "\n"
    print(f"{scores}\n\n{HEADER}", flush=True)
    for part in EVERY_PART:
        if part == "synthetic":
            page += SECOND + HEADER + "\n"
        for row in measured(part, trained.pop(part, None), cache):
            page += f"{row}\n"
            RESULTS.write_text(page)


def measured(part: str, trained: Trained | None, cache: Path | None) -> Iterator[Row]:
    """The lines of a part, each printed with its times as soon as it is there."""
    rows = PARTS[part](trained.workload) if trained else {"threads": threads, "synthetic": synthetic}[part](cache)
    for row in rows:
        print(f"{row} {row.detail}", flush=True)
        yield row


if __name__ == "__main__":
    main()
