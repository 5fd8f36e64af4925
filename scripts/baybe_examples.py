"""Explain every campaign of BayBE's own example scripts, and compare the sums with BayBE's predictions.

    python scripts/baybe_examples.py CHECKOUT [folder/example.py ...]

CHECKOUT is a clone of BayBE at the tag of the version that is installed. Its examples also need
`pip install "baybe[examples]"`. They run in a copy, with fewer iterations, as in BayBE's own CI (SMOKE_TEST). Of
campaigns that differ in nothing but their seed, the last one is explained: `explain()`, all kinds of plots, in both
representations, and the acquisition function if one target is optimised. The last lines count them and print the
largest gap, relative to the largest attribution, or to 1e-9 of the prediction where all experiments are the same.
"""

import argparse
import contextlib
import io
import os
import runpy
import shutil
import sys
import tempfile
import time
import warnings
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
from baybe import Campaign, active_settings
from baybe.exceptions import IncompatibilityError, IncompatibleSurrogateError
from matplotlib import pyplot

from gplens.baybe import Insight
from gplens.baybe.pictures import KINDS

ROWS = 5
"""Rows of a campaign that are explained with error bars and drawn."""


def measured_campaigns(example: Path) -> list[Campaign]:
    """Campaigns with measurements that an example leaves behind, the last of those that are alike."""
    found: dict[int, Campaign] = {}
    add = Campaign.add_measurements

    def remember(campaign: Campaign, *arguments: Any, **options: Any) -> None:
        add(campaign, *arguments, **options)
        found[id(campaign)] = campaign

    Campaign.add_measurements = remember  # pyright: ignore[reportAttributeAccessIssue]
    try:
        silence = io.StringIO()
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
            runpy.run_path(str(example), run_name="__main__")
    finally:
        Campaign.add_measurements = add
        pyplot.close("all")
    return list({setting(campaign): campaign for campaign in found.values()}.values())


def setting(campaign: Campaign) -> tuple[str, ...]:
    """What tells campaigns apart: columns of the model, objective and recommender, but no measurements."""
    recommender: Any = campaign.recommender
    inner = getattr(recommender, "recommender", recommender)  # of two phases, the second
    kinds = [type(part).__name__ for part in (recommender, inner, getattr(inner, "_surrogate_model", None))]
    return ",".join(campaign.searchspace.comp_rep_columns), str(campaign.objective), *kinds


def largest_gap(insight: Insight, explanations: tuple[Any, ...]) -> float:
    """The difference of sums of attributions from BayBE's posterior means, relative to the largest attribution."""
    gaps = []
    for surrogate, explanation in zip(insight.surrogates, explanations, strict=True):
        with torch.no_grad():
            if insight.tables is None:
                values = torch.tensor(insight.background_data.to_numpy(dtype=float).copy())
                mean = surrogate._posterior_comp(values).mean.flatten()
            else:
                mean = surrogate.posterior(insight.background_data).mean.flatten()
        change = (mean - mean.mean())[: len(explanation.values)]
        size = max(float(explanation.values.abs().max()), float(np.ptp(mean.numpy())), 1e-9 * float(mean.abs().max()))
        gaps.append(float((explanation.values.sum(1) - change).abs().max()) / size)
    return max(gaps)


def explained(campaign: Campaign) -> tuple[float, str]:
    """The largest gap of both representations, and what the acquisition function is."""
    gaps = []
    for computational in (False, True):
        insight = Insight.from_campaign(campaign, use_comp_rep=computational)
        rows = insight.background_data.iloc[:ROWS]
        explanations = insight.explain(rows)
        if not all(settled(explanation) for explanation in explanations):
            raise RuntimeError("attributions did not converge")
        gaps.append(largest_gap(insight, explanations))
        for kind in KINDS:
            numbers = rows.select_dtypes("number").columns
            if kind == "scatter" and numbers.empty:  # which SHAPInsight refuses as well
                continue
            insight.plot(kind, rows, show=False, explanation_index=0, target_index=0)
            pyplot.close("all")
    return max(gaps), acquisition(Insight.from_campaign(campaign))


def settled(explanation: Any) -> bool:
    """Whether attributions converged, or are nothing beside the rounding of predictions: the same experiment twice."""
    nothing = explanation.values.abs().max() <= 1e-13 * explanation.prediction.abs().max()
    return bool(explanation.converged.all()) or bool(nothing)


def acquisition(insight: Insight) -> str:
    """The gap of the explanation of a measured experiment by the acquisition function.

    Without that of hypervolumes: 512 samples of a front each, as BayBE draws them, take many minutes.
    """
    if insight.incumbent is None:
        return "several targets"
    explanation = insight.explain_acquisition(insight.background_data.iloc[[-1]], tolerance=1e-4)
    size = max(float(explanation.values.abs().max()), 1e-300)
    return f"{explanation.provenance.target} {float(explanation.gap.abs().max()) / size:.0e}"


def examples_of(checkout: Path, names: list[str]) -> list[Path]:
    folder = checkout / "examples"
    return [folder / name for name in names] or sorted(folder.glob("*/*.py"))


def report(name: str, campaign: Campaign) -> tuple[str, float]:
    """Print one line; "explained", "refused" or "failed", and the gap."""
    start = time.process_time()
    try:
        gap, suggestion = explained(campaign)
    except (IncompatibilityError, IncompatibleSurrogateError) as error:
        print(f"{name}: refused: {str(error)[:100]}", flush=True)
        return "refused", 0.0
    except Exception as error:  # the next campaigns are explained nevertheless
        print(f"{name}: FAILED: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return "failed", 0.0
    size = f"{len(campaign.measurements)} measurements, {len(campaign.parameters)} parameters"
    print(f"{name}: {size}, gap {gap:.0e}, {suggestion}, {time.process_time() - start:.0f} s", flush=True)
    return "explained", gap


def reports(example: Path) -> list[tuple[str, float]]:
    name = f"{example.parent.name}/{example.name}"
    try:
        campaigns = measured_campaigns(example)
    except Exception as error:  # packages that are not installed
        print(f"{name}: the example failed: {type(error).__name__}: {str(error)[:150]}", flush=True)
        return []
    if not campaigns:
        print(f"{name}: has no measured campaign", flush=True)
    return [report(name, campaign) for campaign in campaigns]


def prepare(checkout: Path) -> None:
    """Of a process: where examples find their files, and what makes them fast."""
    mpl.use("Agg")
    warnings.simplefilter("ignore")
    os.environ["SMOKE_TEST"] = "1"
    os.chdir(checkout)
    sys.path.append(str(checkout))
    active_settings.parallelize_simulation_runs = False  # campaigns of other processes would not be seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(arguments.checkout, Path(folder) / "baybe", ignore=shutil.ignore_patterns(".git")))
        shutil.rmtree(copy / "baybe")  # the installed one is explained
        examples = examples_of(copy, arguments.names)
        # One process after the other, each for one example, since some of them change classes of BayBE.
        with get_context("spawn").Pool(1, prepare, (copy,), maxtasksperchild=1) as processes:
            results = [result for some in processes.imap(reports, examples, chunksize=1) for result in some]
    gaps = [gap for state, gap in results if state == "explained"]
    refused = sum(state == "refused" for state, _ in results)
    print(f"explained {len(gaps)} of {len(results) - refused} campaigns with a Gaussian process, {refused} have none")
    print(f"largest gap {max(gaps, default=0):.1e}")


if __name__ == "__main__":
    main()
