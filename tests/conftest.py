"""What all tests share. It must not import gplens: the run-time check of axes is installed after this file."""

import gc
import os
import secrets
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import jaxtyping
import pytest
import torch
from hypothesis import Phase, settings

# Modules without tests: with this, an assert that fails in one of them shows its numbers too.
FOLDER = Path(__file__).parent
HELPERS = {path.stem for path in FOLDER.rglob("*.py") if not path.stem.startswith(("test_", "conftest"))}
pytest.register_assert_rewrite("conformance", "oracles", *sorted(HELPERS))

settings.register_profile(
    "gplens",
    deadline=None,
    max_examples=4,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # a seed does not get simpler by getting smaller
)
settings.load_profile("gplens")
os.environ.pop("GPLENS_DATA", None)  # what a developer has there is no part of the tests
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))  # workers share the machine; the tensors are small
os.environ.setdefault("GPLENS_SEED", str(secrets.randbits(32)))  # before workers are started, which inherit it
EXTENSIONS = FOLDER.parent / ".pytest_cache" / "torch_extensions"
if "PYTEST_XDIST_WORKER" not in os.environ:  # one that is not a worker, before there are any
    os.environ["TORCH_EXTENSIONS_DIR"] = str(EXTENSIONS)
    for lock in EXTENSIONS.rglob("lock"):  # BoTorch compiles a kernel, and waits for ever for a run that was killed
        lock.unlink()

LARGE, SAMPLED = 12, 6
"""Of a family of 12 or more cases of hosts `make test` runs every sixth one, and `make test-slow` the others."""
CHECKED = 4
"""Shapes are checked at run time in all slow tests, and in the first and then every fourth case of the others: with the
check a test takes two to four times as long."""
WITHOUT_SHAPES = pytest.StashKey[bool]()


def pytest_collectstart() -> None:
    """Modules and collected tests live until the end of the run, so that the garbage collector need not visit them.

    Every module of BayBE calls gc.collect() when it is imported, which takes half a minute among thousands of tests.
    """
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before cases are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.path.is_relative_to(FOLDER / "adapters") and item.get_closest_marker("slow") is None:
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for family in families.values():
        for number, item in enumerate(family):
            if len(family) >= LARGE and number % SAMPLED:
                item.add_marker(pytest.mark.slow)
    cases = Counter[str]()
    for item in items:
        if item.get_closest_marker("slow") is None:
            family = item.nodeid.partition("[")[0]
            item.stash[WITHOUT_SHAPES] = cases[family] % CHECKED != 0
            cases[family] += 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    jaxtyping.config.update("jaxtyping_disable", item.stash.get(WITHOUT_SHAPES, False))
    try:
        return (yield)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:  # a name of pytest since 8.4
    terminalreporter.write_line(f"Seeds that move began at GPLENS_SEED={os.environ['GPLENS_SEED']}.")


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model`, a saved regressor of two numbers and a category, and its training table `data.csv`."""
    import numpy as np
    import pandas

    from gplens.estimators import GPRegressor

    r, folder = np.random.default_rng(0), tmp_path_factory.mktemp("small")
    X = pandas.DataFrame({"a": r.normal(size=40), "b": r.normal(size=40), "c": r.choice(["x", "y", "z"], 40)})
    y = np.sin(X.a) + X.b * (X.c == "x") + 0.1 * r.normal(size=40)
    GPRegressor(progress=False).fit(X, y).save(folder / "model")
    X.assign(y=y).to_csv(folder / "data.csv", index=False)
    return folder
