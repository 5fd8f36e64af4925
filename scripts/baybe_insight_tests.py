"""Run BayBE's own tests of its insights with `gplens.baybe.Insight`, and explain every campaign that they make.

    python scripts/baybe_insight_tests.py CHECKOUT [--seed 1337] [--only test_plots]

CHECKOUT is a clone of BayBE at the tag of the version that is installed. Its tests also need pytest, tenacity and
BayBE's extra `insights`. Tests whose body asks for nothing but the calls that both classes have run as BayBE wrote
them, with `Insight` in the place of `SHAPInsight`, and warnings are errors as in BayBE's own settings, but for those of
attributions and error bars that missed their tolerance, which are printed. The body of the others looks into the
explainers of shap: their campaigns, one for each search space and objective, are explained and drawn as in
scripts/baybe_examples.py. BayBE seeds its test campaigns with the time; here `--seed` gives the seed. The
last lines count the campaigns and print the largest gap of a sum.
"""

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from baybe_examples import copied, explained, prepare

import gplens
from gplens.baybe import Insight

LOOKS_INTO_EXPLAINERS = "test_shap_explainers"
"""The test whose campaigns are explained instead."""
LEFT_OUT = ("test_non_shap_explainers", "test_non_shap_signature", "test_column_permutation")
"""Campaigns that the test above has too, and tests of shap's classes alone. For columns in another order see
tests/interop/test_baybe_campaigns.py."""


def from_campaign(campaign: Any, explainer_cls: str = "", *, use_comp_rep: bool = False) -> Insight:
    """As SHAPInsight is called, which has several explainers; integrals need none."""
    assert explainer_cls in ("", "KernelExplainer")
    return Insight.from_campaign(campaign, use_comp_rep=use_comp_rep)


class OurInsight:
    """A plugin of pytest that puts `Insight` into BayBE's tests."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.gaps: dict[str, float] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of tests that differ in the explainer or in the representation alone, one: both are explained."""
        kept: dict[tuple[str, str], pytest.Item] = {}
        for item in items:
            function: Any = item
            given = dict(getattr(function, "callspec", SimpleNamespace(params={})).params)
            if function.originalname == LOOKS_INTO_EXPLAINERS:
                given = {key: value for key, value in given.items() if key not in ("explainer_cls", "use_comp_rep")}
            if function.originalname not in LEFT_OUT:
                kept.setdefault((function.originalname, str(given)), item)
        items[:] = kept.values()

    def pytest_runtest_setup(self, item: Any) -> None:
        """Before a campaign is made: the seed of its iterations, and the class that explains it."""
        sys.modules["tests.conftest"].time = SimpleNamespace(time=lambda: self.seed)  # pyright: ignore
        item.module.SHAPInsight = SimpleNamespace(
            from_campaign=from_campaign, from_recommender=Insight.from_recommender
        )
        item.module.insights = SimpleNamespace(SHAPInsight=Insight)

    def pytest_warning_recorded(self, warning_message: Any, nodeid: str) -> None:
        """Error bars that missed their tolerance: outcomes that BayBE makes up have lengthscales without meaning."""
        if issubclass(warning_message.category, gplens.ConvergenceWarning):
            print(f"{nodeid.rpartition('::')[2]}: {warning_message.message}", flush=True)

    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool | None:
        if pyfuncitem.originalname != LOOKS_INTO_EXPLAINERS:
            return None
        warnings.simplefilter("ignore", RuntimeWarning)  # of shap's drawings, which BayBE's tests ignore too
        warnings.filterwarnings("ignore", message="non-numeric")
        warnings.simplefilter("ignore", gplens.ConvergenceWarning)  # of acquisition functions: the line says so
        start = time.process_time()
        gap, suggestion = explained(pyfuncitem.funcargs["ongoing_campaign"])
        self.gaps[pyfuncitem.name] = gap
        print(f"{pyfuncitem.name}: gap {gap:.0e}, {suggestion}, {time.process_time() - start:.0f} s", flush=True)
        return True  # the body does not run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--only", default="", help="an expression for pytest -k")
    arguments = parser.parse_args()
    ours = OurInsight(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(arguments.checkout, Path(folder))
        prepare(copy)
        options = ["-q", "-p", "no:cacheprovider", "--tb=short", "-rN", "-s", "--assert=plain", "-k", arguments.only]
        options += ["-W", "default::gplens.ConvergenceWarning"]  # printed; other warnings are errors
        status = pytest.main([*options, str(copy / "tests/insights/test_shap.py")], plugins=[ours])
    print(f"explained {len(ours.gaps)} campaigns, largest gap {max(ours.gaps.values(), default=0):.1e}")
    sys.exit(int(status))


if __name__ == "__main__":
    main()
