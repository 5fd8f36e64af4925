"""The numerics of the page in Node.js, on the same inputs as Python: kernels, links, classes, columns, tails."""

from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import gpytorch
import numpy as np
import pandas
import pytest
import torch
from live_models import KERNELS, LINKS, L, posterior, spec_of
from node_runner import run
from scipy import special

import gplens
from gplens import columns, kernels, links
from gplens.adapters.encoders import read_raw
from gplens.columns.planning import plan_columns
from gplens.page.control_specs import control_specs, entries_of
from gplens.processes.stack import Stack

ANSWERS = """
import { Model } from "page/model.js";
const answers = given.map(({ spec, pairs, bars }) => {
  const model = new Model(spec), outputs = [...Array(model.response.count).keys()];
  return pairs.map(([from, to]) => {
    const [x0, x] = [model.point(from), model.point(to)], found = model.explain(x0, x, outputs);
    const deviations = bars ? Array.from(model.finerBars(x0, x, 0)) : null;
    return { values: found.values.map((own) => Array.from(own)), prediction: found.end, gap: found.gap, deviations };
  });
});
console.log(JSON.stringify(answers));
"""
SOFT = "three classes"


def cases() -> dict[str, tuple[Any, Any]]:
    """Every kernel through the identity, and every link with two kernels."""
    found = {name: (posterior(kernel), links.Identity()) for name, kernel in KERNELS.items()}
    for name, link in LINKS.items():
        found[f"{name}, rbf"] = posterior(kernels.RBF(L)), link
        found[f"{name}, matern"] = posterior(kernels.Matern52(L)), link
    found[SOFT] = Stack(tuple(posterior(kernels.Matern52(L), seed=i) for i in range(3))), links.Softmax()
    return found


def pairs(count: int, seed: int = 5) -> torch.Tensor:
    return torch.randn(count, 2, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_every_kernel_and_link_is_that_of_python(tmp_path: Path) -> None:
    """Attributions and predictions to 1e-8 of the largest attribution, and complete."""
    given, ends = cases(), pairs(2)
    sent = [{"spec": spec_of(model, link), "pairs": ends.tolist(), "bars": False} for model, link in given.values()]
    for (name, (model, link)), answers in zip(given.items(), run(ANSWERS, tmp_path, sent), strict=True):
        e = gplens.explain(
            model, ends[:, 1], baseline=gplens.baselines.Rows(ends[:, 0]), likelihood=link, tolerance=1e-10
        )
        for i, answer in enumerate(answers):
            values, ours = e.values[i].numpy(), np.array(answer["values"])
            assert np.abs(ours.reshape(values.shape) - values).max() <= 1e-8 * np.abs(values).max(), name
            assert np.ravel(answer["prediction"]) == pytest.approx(np.ravel(e.prediction[i]), rel=1e-9), name
            assert np.abs(answer["gap"]).max() <= 1e-8 * np.abs(values).max(), name


MOTION = ANSWERS.replace("outputs);", "outputs, IN_MOTION);").replace("{ Model }", "{ IN_MOTION, Model }")


def test_bars_that_follow_a_drag_are_nearly_those_at_rest(tmp_path: Path) -> None:
    """Fewer points of the path, of v above all, leave 1e-3 of the largest one: less than a pixel."""
    given, ends = {name: case for name, case in cases().items() if name.endswith("rbf") or name == SOFT}, pairs(4)
    sent = [{"spec": spec_of(model, link), "pairs": ends.tolist(), "bars": False} for model, link in given.values()]
    still, moving = run(ANSWERS, tmp_path, sent), run(MOTION, tmp_path, sent)
    for name, at_rest, in_motion in zip(given, still, moving, strict=True):
        for one, other in zip(at_rest, in_motion, strict=True):
            a, b = np.array(one["values"]), np.array(other["values"])
            assert np.abs(a - b).max() <= 1e-3 * np.abs(a).max(), name


HELD = """
import { IN_MOTION, Model } from "page/model.js";
const model = new Model(given.spec), x0 = model.point(given.from);
let first = null;
console.log(JSON.stringify(given.to.map((setting) => {
  const x = model.point(setting), held = model.explain(x0, x, [1], IN_MOTION, first);
  first = held.first;
  const found = [
    [held, model.predictFrom(held.at, 0.9)],
    [model.explain(x0, x, [1], IN_MOTION), model.predict(x, 0.9)],
  ];
  return found.map(([one, at]) => [...one.values[0], ...at.values, ...at.low, at.support]);
})));
"""


def test_a_baseline_that_is_held_changes_nothing(tmp_path: Path) -> None:
    """While one drags, the baseline's side of the path is not evaluated again: the same numbers to rounding."""
    model, link = cases()[SOFT]
    ends = pairs(4)
    given = {"spec": spec_of(model, link), "from": ends[0, 0].tolist(), "to": ends[:, 1].tolist()}
    for held, alone in run(HELD, tmp_path, given):
        np.testing.assert_allclose(held, alone, rtol=1e-10, atol=1e-12)


JETS = """
import { softmaxJet } from "page/softmax.js";
console.log(JSON.stringify(given.map(({ m, v }) => {
  const { value, byM, byV } = softmaxJet(m, v);
  return { value, byM: byM.map((own) => Array.from(own)), byV: byV.map((own) => Array.from(own)) };
})));
"""


def test_classes_are_those_of_python_for_every_variance(tmp_path: Path) -> None:
    """Probabilities and their derivatives to 1e-8, from certain logits to deviations of 20."""
    r = np.random.default_rng(1)
    sd = [0.0, 1e-3, 0.01, 0.02, 0.03, 0.07, 0.2, 0.5, 0.8, 0.9, 1.5, 4.0, 20.0]
    m = r.normal(scale=3.0, size=(len(sd), 4))
    v = np.stack([np.square([s, *r.choice(sd[:-1], 3)]) for s in sd])
    answers = run(JETS, tmp_path, [{"m": a.tolist(), "v": b.tolist()} for a, b in zip(m, v, strict=True)])
    value, by_m, by_v = links.Softmax().derivatives(torch.tensor(m), torch.tensor(v), (0, 1, 2, 3))
    np.testing.assert_allclose([answer["value"] for answer in answers], value, atol=1e-8)
    np.testing.assert_allclose([answer["byM"] for answer in answers], by_m, atol=1e-8)
    np.testing.assert_allclose([answer["byV"] for answer in answers], by_v, atol=1e-8)


@pytest.mark.slow
def test_error_bars_are_those_of_python(tmp_path: Path) -> None:
    """To 1e-6 through the identity and for analytic kernels, to 1e-3 of the largest for Matern and another link."""
    given, ends = {name: case for name, case in cases().items() if name != SOFT}, pairs(2)
    sent = [{"spec": spec_of(model, link), "pairs": ends.tolist(), "bars": True} for model, link in given.values()]
    for (name, (model, link)), answers in zip(given.items(), run(ANSWERS, tmp_path, sent), strict=True):
        asked = gplens.Diagonal(tolerance=1e-7)
        e = gplens.explain(
            model, ends[:, 1], baseline=gplens.baselines.Rows(ends[:, 0]), likelihood=link, uncertainty=asked
        )
        assert e.std is not None
        exact = name.endswith("rbf") or link == links.Identity()
        for i, answer in enumerate(answers):
            std = e.std[i].numpy()
            assert np.abs(np.array(answer["deviations"]) - std).max() <= (1e-6 if exact else 1e-3) * std.max(), name


@pytest.mark.slow
def test_error_bars_of_classes_are_those_of_draws(tmp_path: Path) -> None:
    """To 5 % of each at rest: of 4,000 draws of Python, whose deviations vary by 1.1 %."""
    model, link = cases()[SOFT]
    ends = pairs(4)
    sent = [{"spec": spec_of(model, link), "pairs": ends.tolist(), "bars": True}]
    e = gplens.explain(
        model,
        ends[:, 1],
        baseline=gplens.baselines.Rows(ends[:, 0]),
        likelihood=link,
        outputs=[0],
        uncertainty=gplens.Samples(4000, seed=3),
    )
    assert e.std is not None
    found = np.array([answer["deviations"] for answer in run(ANSWERS, tmp_path, sent)[0]])
    np.testing.assert_allclose(found, e.std.reshape(found.shape).numpy(), rtol=0.05)


SPECIAL = """
import { gammaLower, logGamma, normalCdf, normalQuantile } from "page/special.js";
import { gaussLegendre } from "page/gauss.js";
console.log(JSON.stringify({
  cdf: given.u.map(normalCdf), quantile: given.p.map(normalQuantile), gamma: given.a.map(logGamma),
  tail: given.a.map((a, i) => gammaLower(a, given.x[i])), nodes: Array.from(gaussLegendre(24).t),
  weights: Array.from(gaussLegendre(24).w),
}));
"""


def test_special_functions_are_those_of_scipy(tmp_path: Path) -> None:
    r = np.random.default_rng(0)
    u, p = np.linspace(-12, 12, 97), np.array([1e-12, 0.003, 0.05, 0.3, 0.5, 0.8, 0.95, 0.999])
    a, x = np.floor(np.exp(r.uniform(0, 8, 60))), np.exp(r.uniform(-2, 8, 60))
    found = run(SPECIAL, tmp_path, {"u": u.tolist(), "p": p.tolist(), "a": a.tolist(), "x": x.tolist()})
    np.testing.assert_allclose(found["cdf"], special.ndtr(u), rtol=1e-12)
    np.testing.assert_allclose(found["quantile"], special.ndtri(p), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(found["gamma"], special.gammaln(a), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["tail"], special.gammainc(a, x), rtol=1e-9, atol=1e-12)
    t, w = np.polynomial.legendre.leggauss(24)
    np.testing.assert_allclose(found["nodes"], (1 + t) / 2, atol=1e-15)
    np.testing.assert_allclose(found["weights"], w / 2, atol=1e-15)


class NegativeBinomial(gpytorch.likelihoods.likelihood._OneDimensionalLikelihood):
    """Counts with mean exp(f) and more variance than a Poisson variable: mean + mean^2 / failures."""

    def __init__(self, failures: float) -> None:
        super().__init__()
        self.failures = failures

    def forward(self, function_samples: Any, *args: Any, **kwargs: Any) -> Any:
        return torch.distributions.NegativeBinomial(self.failures, logits=function_samples - np.log(self.failures))


TAILS = """
import { Model } from "page/model.js";
const model = new Model(given.spec);
console.log(JSON.stringify(given.settings.map((setting) => {
  const { m, v } = model.posterior.at(model.point(setting));
  return { tails: given.t.map((t) => model.exceeds(m[0], v[0], t)), interval: model.outcomeInterval(m[0], v[0], 0.9) };
})));
"""


KINDS = ["poisson", "negative_binomial", "laplace"]


@pytest.mark.parametrize("kind", ["gaussian", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS)])
def test_tail_probabilities_are_those_of_python(kind: str, tmp_path: Path) -> None:
    """P(y > t) of the target `Exceeds`, and an interval of y whose ends have the tails that they should have."""
    likelihoods = gpytorch.likelihoods
    from gplens.estimators.own_likelihoods import LogPoisson

    model, t = posterior(kernels.RBF(L)), [0.0, 0.7, 1.0, 4.0, 9.5]
    likelihood: Any = {
        "gaussian": lambda: likelihoods.GaussianLikelihood().double().initialize(noise=0.3),
        "poisson": LogPoisson,
        "negative_binomial": lambda: NegativeBinomial(2.5),
        "laplace": lambda: likelihoods.LaplaceLikelihood().double().initialize(noise=0.3),
    }[kind]()
    X = pairs(3)[:, 1]
    spec = spec_of(model, likelihood)
    assert spec["outcome"]["type"] == kind
    answers = run(TAILS, tmp_path, {"spec": spec, "settings": X.tolist(), "t": t})

    def tails(threshold: float) -> Any:
        return gplens.explain(
            model, X, baseline=0.0, likelihood=likelihood, target=gplens.targets.Exceeds(threshold), tolerance=0.1
        ).prediction.numpy()

    np.testing.assert_allclose(np.array([a["tails"] for a in answers]).T, [tails(s) for s in t], rtol=1e-8, atol=1e-12)
    for i, (low, high) in enumerate(answer["interval"] for answer in answers):
        assert low < high
        slack = 1e-9  # of counts the ends are the least y whose tail is small enough
        assert tails(high)[i] <= 0.05 + slack
        assert tails(low)[i] <= 0.95 + slack


ENCODE = """
import { encodeSetting, entryText } from "page/columns.js";
console.log(JSON.stringify(given.rows.map((row) => Array.from(encodeSetting(given.columns, row)))));
"""


def test_columns_are_encoded_as_python_encodes_them(tmp_path: Path) -> None:
    """Every kind of column, with missing entries, leap years and a time zone clock."""
    n, r = 40, np.random.default_rng(2)
    start = datetime(2023, 12, 20, 5, 30)
    table = pandas.DataFrame(
        {
            "number": r.normal(size=n),
            "gap": np.where(r.random(n) < 0.3, np.nan, r.normal(size=n)),
            "log": r.lognormal(size=n),
            "hour": r.integers(0, 24, n),
            "flag": r.random(n) < 0.5,
            "city": r.choice(["Bonn", "Köln", "Trier"], n),
            "code": r.integers(1, 4, n),
            "when": [start + timedelta(hours=int(h)) for h in r.integers(0, 9000, n)],
            "day": [date(2024, 2, 20) + timedelta(days=int(i)) for i in r.integers(0, 400, n)],
            "clock": [time(int(h), int(m)) for h, m in zip(r.integers(0, 24, n), r.integers(0, 60, n), strict=True)],
            "left out": r.normal(size=n),
        }
    )
    kinds = {
        "log": columns.Log(plus=0.1),
        "hour": columns.Cyclic(24),
        "code": columns.Category(),
        "left out": columns.Drop(),
    }
    plan = plan_columns(read_raw(table, "table"), kinds)
    read, original = plan.read(table, "table")
    words = (*original.texts.words, None)
    texts = [[words[code] for code in column] for column in original.texts.codes.T.tolist()]
    rows = entries_of(plan, original.numbers.numpy(), texts)
    specs = control_specs(plan, plan.names, rows)
    sent = [[None if np.isnan(entry) else entry for entry in row] for row in rows.tolist()]
    found = run(ENCODE, tmp_path, {"columns": specs, "rows": sent})
    np.testing.assert_allclose(found, read.values.numpy(), rtol=1e-12, atol=1e-12)
