"""Explain every campaign of BayBE's own example scripts, and compare the sums with BayBE's predictions.

    python scripts/baybe_examples.py CHECKOUT [folder/example.py ...]

CHECKOUT is a clone of BayBE at the tag of the version that is installed. Its examples also need
`pip install -c constraints.txt "baybe[chem,insights,onnx,simulation]" "ngboost<1" fpsample openpyxl seaborn streamlit`:
BayBE's extra `examples` without `polars`, of which it takes older versions than the one in constraints.txt. They run in
a copy, with fewer iterations, as in BayBE's own CI (SMOKE_TEST). Of campaigns that differ in nothing but their seed,
the last one is explained: `explain()`, by `from_campaign`, `from_surrogate` and `from_recommender`, and all kinds of
plots, in both representations, and the acquisition function. The last lines count them and print the largest gap of a
sum, relative to the largest attribution, or to 1e-9 of the prediction where all experiments are the same.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas
import torch
from baybe import Campaign, active_settings
from baybe.exceptions import IncompatibilityError, IncompatibleSurrogateError, NoMeasurementsError
from baybe.insights import SHAPInsight
from baybe_example_campaigns import campaigns_of
from matplotlib import pyplot

from gplens.baybe import Insight
from gplens.baybe.pictures import KINDS

ROWS = 5
"""Rows of a campaign that are explained with error bars and drawn."""


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
    """The largest gap of both representations and all ways to an insight, and what the acquisition function is."""
    gaps = []
    for computational in (False, True):
        insight = Insight.from_campaign(campaign, use_comp_rep=computational)
        rows = insight.background_data.iloc[:ROWS]
        for other in (insight, *same_insights(campaign, insight.background_data, use_comp_rep=computational)):
            explanations = other.explain(rows)
            if not all(settled(explanation) for explanation in explanations):
                raise RuntimeError("attributions did not converge")
            gaps.append(largest_gap(other, explanations))
        for kind in KINDS:
            numbers = rows.select_dtypes("number").columns
            if kind == "scatter" and numbers.empty:  # which SHAPInsight refuses as well
                continue
            for target in range(len(insight.surrogates)):
                insight.plot(kind, rows, show=False, explanation_index=0, target_index=target)
                pyplot.close("all")
    return max(gaps), acquisition(Insight.from_campaign(campaign))


def same_insights(campaign: Campaign, data: Any, *, use_comp_rep: bool) -> tuple[Insight, Insight]:
    """By the campaign's surrogate, and by the recommender that is in use now."""
    context = campaign.searchspace, campaign.objective, campaign.measurements
    recommender: Any = campaign.recommender
    recommender = getattr(recommender, "recommender", recommender)  # of two phases, the second
    return (
        Insight.from_surrogate(campaign.get_surrogate(), data, use_comp_rep=use_comp_rep),
        Insight.from_recommender(recommender, *context, use_comp_rep=use_comp_rep),
    )


def settled(explanation: Any) -> bool:
    """Whether attributions converged, or are nothing beside the rounding of predictions: the same experiment twice."""
    nothing = explanation.values.abs().max() <= 1e-13 * explanation.prediction.abs().max()
    return bool(explanation.converged.all()) or bool(nothing)


def acquisition(insight: Insight) -> str:
    """The gap between the attributions of a measured experiment and the change of the acquisition function itself.

    Relative to the best experiment. Without hypervolumes: 512 samples of a front each, as BayBE draws them, take many
    minutes.
    """
    if insight.incumbent is None:
        return "several targets"
    assert insight.acquisition is not None
    assert insight.tables is not None
    function, best = insight.acquisition(), insight.incumbent.to_frame().T
    rows = insight.background_data
    others = rows[(rows.to_numpy() != best.to_numpy()).any(1)]
    if others.empty:
        return "all experiments are the same"
    fixed = replace(insight, acquisition=lambda: function)  # the same samples for both
    explanation = fixed.explain_acquisition(others.iloc[[-1]], tolerance=1e-4)
    with torch.no_grad():
        ends = function(insight.tables.encode(pandas.concat([others.iloc[[-1]], best]))[:, None])
    size = max(float(explanation.values.abs().max()), 1e-9 * float(ends.abs().max()))
    gap = abs(float(explanation.values.sum()) - float(ends[0] - ends[1])) / size
    return f"{explanation.provenance.target} {gap:.0e}{'' if settled(explanation) else ' (did not converge)'}"


def examples_of(checkout: Path, names: list[str]) -> list[Path]:
    folder = checkout / "examples"
    return [folder / name for name in names] or sorted(folder.glob("*/*.py"))


def report(name: str, campaign: Campaign) -> tuple[str, float]:
    """Print one line; "explained", "refused" or "failed", and the gap."""
    start = time.process_time()
    try:
        gap, suggestion = explained(campaign)
    except (NoMeasurementsError, IncompatibilityError, IncompatibleSurrogateError) as error:
        print(f"{name}: refused as {type(error).__name__}, {whose(campaign, error)}: {str(error)[:100]}", flush=True)
        return "refused", 0.0
    except Exception as error:  # the next campaigns are explained nevertheless
        print(f"{name}: FAILED: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return "failed", 0.0
    size = f"{len(campaign.measurements)} measurements, {len(campaign.parameters)} parameters"
    print(f"{name}: {size}, gap {gap:.0e}, {suggestion}, {time.process_time() - start:.0f} s", flush=True)
    return "explained", gap


def whose(campaign: Campaign, error: Exception) -> str:
    """Whether SHAPInsight refuses the campaign in the same words; it samples surrogates that are no processes."""
    try:
        SHAPInsight.from_campaign(campaign)
    except Exception as its_own:
        same = type(its_own) is type(error) and str(error).startswith(str(its_own))
        return "as SHAPInsight does" if same else f"but SHAPInsight says {its_own!s:.100}"
    return "which SHAPInsight samples"


def reports(example: Path) -> list[tuple[str, float]]:
    name = f"{example.parent.name}/{example.name}"
    try:
        campaigns = campaigns_of(example)
    except Exception as error:  # packages that are not installed
        print(f"{name}: the example failed: {type(error).__name__}: {str(error)[:150]}", flush=True)
        return []
    if not campaigns:
        print(f"{name}: makes no campaign", flush=True)
    return [report(name, campaign) for campaign in campaigns]


def copied(checkout: Path, folder: Path) -> Path:
    """A copy of a checkout for its examples and tests to write into, without BayBE: the installed one is explained."""
    copy = Path(shutil.copytree(checkout, folder / "baybe", ignore=shutil.ignore_patterns(".git")))
    shutil.rmtree(copy / "baybe")
    return copy


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
        copy = copied(arguments.checkout, Path(folder))
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
