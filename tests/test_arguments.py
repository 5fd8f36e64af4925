"""Numbers, indices and names of Python, numpy, torch and pandas: understood, or refused with a sentence."""

import inspect
import random
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pytest
import torch

import gplens
from conformance.zoo import KERNELS, fitted, rows
from explanations import NAMES, several, single
from gplens import Explanation, Stack
from gplens.adapters.numbers import as_float, as_int
from gplens.links import Exp
from messages import naming
from seeds import fresh_seed

POSTERIOR, STACK = fitted(KERNELS["rbf"], 71)[0], Stack((fitted(KERNELS["rbf"], 72)[0], fitted(KERNELS["rbf"], 73)[0]))
X = rows(71, 5)[0]
unchecked = inspect.unwrap(gplens.explain)
"""What a user meets, for whom no type is checked at run time."""


def explain(model: Any = POSTERIOR, **options: Any) -> Explanation:
    return unchecked(model, X, **{"baseline": 0.0, "likelihood": Exp(), **options})


def make(kind: type[Any], *arguments: Any) -> Any:
    """An object as a user makes it, without a check of types at run time."""
    instance = object.__new__(kind)
    inspect.unwrap(kind.__init__)(instance, *arguments)
    return instance


WHOLE = [3, np.int64(3), np.uint8(3), np.array(3), torch.tensor(3), torch.tensor(3, dtype=torch.int16)]
REAL = [0.5, np.float32(0.5), np.float64(0.5), np.float16(0.5), np.array(0.5), torch.tensor(0.5), Fraction(1, 2)]
DAY = np.datetime64("2020-01-01")
NEITHER = [None, True, np.True_, torch.tensor(True), "3", b"3", 3j, DAY, [3], torch.zeros(1), {}]


def described(value: Any) -> str:
    text = f"{type(value).__name__} {value!r}".replace("\n", " ")
    return text.partition(" at 0x")[0][:60]  # the same in every process


def test_numbers_of_every_library_are_numbers() -> None:
    assert [as_int(value) for value in WHOLE] == [3] * len(WHOLE)
    assert [as_float(value) for value in WHOLE] == [3.0] * len(WHOLE)
    assert [as_float(value) for value in REAL] == [0.5] * len(REAL)
    assert [as_int(value) for value in REAL] == [None] * len(REAL)
    assert [as_int(value) for value in NEITHER] == [None] * len(NEITHER)
    assert [as_float(value) for value in NEITHER] == [None] * len(NEITHER)
    assert (as_float(10**400), as_float(-(10**400))) == (float("inf"), -float("inf"))


@pytest.mark.parametrize(
    "tolerance",
    [
        np.float32(1e-6),
        np.float64(1e-6),
        np.array(1e-6),
        torch.tensor(1e-6),
        torch.tensor(1e-6).double(),
        Fraction("1e-6"),
    ],
    ids=described,
)
def test_a_tolerance_is_a_number_of_any_library(tolerance: Any) -> None:
    e = explain(tolerance=tolerance)
    assert type(e.provenance.tolerance) is float
    assert e.provenance.tolerance == pytest.approx(1e-6, rel=1e-6)
    assert torch.equal(e.values, explain(tolerance=float(tolerance)).values)


@pytest.mark.parametrize("tolerance", [*NEITHER[1:], 0, 1, -1e-6, 10**400, np.float32("nan"), [1e-6]], ids=described)
def test_a_tolerance_that_is_none_is_refused(tolerance: Any) -> None:
    with pytest.raises(ValueError, match=naming("tolerance", 1e-13, 1)):
        explain(tolerance=tolerance)


@pytest.mark.parametrize(
    "outputs",
    [
        1,
        np.int64(1),
        np.array(1),
        torch.tensor(1),
        "output 1",
        np.str_("output 1"),
        [1],
        np.array([1]),
        torch.tensor([1]),
    ],
    ids=described,
)
def test_an_output_is_a_number_of_any_library_or_a_name(outputs: Any) -> None:
    assert explain(STACK, outputs=outputs).output_names == ("output 1",)


def test_several_outputs_may_come_in_any_iterable() -> None:
    for outputs in ((1, 0), np.array([1, 0]), torch.tensor([1, 0]), ["output 1", 0], range(1, -1, -1), iter([1, 0])):
        assert explain(STACK, outputs=outputs).output_names == ("output 1", "output 0")
    assert explain(STACK, outputs=pandas.Series([1])).output_names == ("output 1",)


@pytest.mark.parametrize(
    "outputs",
    [0.0, np.float64(1.0), np.array(1.0), True, np.True_, torch.tensor(True), np.array([True, False]), "1", b"output 1",
     -1, 2, [0.0], [None], [[0]], np.array([[0, 1]]), slice(0, 1), {}, (), np.array([]), [0, np.int64(0)], 1j],
    ids=described,
)  # fmt: skip
def test_outputs_that_are_none_are_refused(outputs: Any) -> None:
    with pytest.raises(ValueError, match=naming(["output 0", "output 1"])):
        explain(STACK, outputs=outputs)


def test_contrasts_take_numbers_and_names_and_refuse_the_rest() -> None:
    contrast = inspect.unwrap(Explanation.contrast)
    expected = several().values[:, 1] - several().values[:, 0]
    for a, b in ((1, 0), (np.int64(1), torch.tensor(0)), ("output 1", np.str_("output 0"))):
        assert torch.equal(contrast(several(), a, b).values, expected)
    for wrong in (0.0, True, None, [0], 2, -1, "output", np.array([0, 1])):
        with pytest.raises(ValueError, match=naming(2, ["output 0", "output 1"])):
            contrast(several(), 1, wrong)


def part(index: Any) -> Explanation:
    return inspect.unwrap(Explanation.__getitem__)(single(), index)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (-5, [0]),
        (np.uint8(2), [2]),
        (np.array(-1), [4]),
        (torch.tensor(-2), [3]),
        (slice(None, None, -1), [4, 3, 2, 1, 0]),
        (slice(-2, None), [3, 4]),
        (slice(3, 99), [3, 4]),
        (slice(4, 1), []),
        (slice(np.int64(1), torch.tensor(3)), [1, 2]),
        ([-1, 0], [4, 0]),
        (np.array([4, 1], dtype=np.uint8), [4, 1]),
        (np.array([-1, 1], dtype=np.int8), [4, 1]),
        (pandas.Series([2, 3]), [2, 3]),
        (pandas.Series([True, False, False, False, True]), [0, 4]),
        ([np.int64(1), torch.tensor(2)], [1, 2]),
        ([np.True_, np.False_, np.False_, np.False_, np.False_], [0]),
        (np.array([]), []),
        (range(4, 0, -2), [4, 2]),
    ],
    ids=described,
)
def test_inputs_are_chosen_as_in_numpy(index: Any, expected: list[int]) -> None:
    assert torch.equal(part(index).values, single().values[expected])
    assert torch.equal(part(index).baseline, single().baseline[expected])


@pytest.mark.parametrize(
    "index", [99, 5, -6, 10**30, np.int64(99), torch.tensor(5), [0, 9], [-6], np.array([99])], ids=described
)
def test_an_input_that_does_not_exist_is_named(index: Any) -> None:
    numbers = np.atleast_1d(np.asarray(index, dtype=object)).tolist()
    with pytest.raises(IndexError, match=naming(-5, 4, numbers[-1])):
        part(index)


@pytest.mark.parametrize(
    "mask", [[True], [True] * 4, np.ones(6, dtype=bool), torch.ones(2, dtype=torch.bool)], ids=described
)
def test_a_mask_of_another_length_is_refused(mask: Any) -> None:
    with pytest.raises(IndexError, match=naming(5, len(mask))):
        part(mask)


@pytest.mark.parametrize(
    "index",
    [1.0, True, np.True_, None, "0", "temp", [1.0], [0, None], ["a"], [[0, 1]], [[0], [1, 2]], [True, 2],
     np.zeros((5, 4)), {0: 1}, {}, "", slice(0.0, 2), slice(0, 4, 0), slice("a", None), torch.zeros(5),
     (0, 1), ..., iter([0])],
    ids=described,
)  # fmt: skip
def test_what_is_no_index_is_refused_with_a_sentence(index: Any) -> None:
    with pytest.raises(TypeError, match=r"^expected (an index|a slice)"):
        part(index)


def random_index(r: random.Random) -> Any:
    kind, numbers = r.randrange(5), [r.randint(-7, 7) for _ in range(r.randrange(4))]
    if kind == 0:
        return r.choice([int, np.int8, np.int64])(r.randint(-7, 7))
    if kind == 1:
        return slice(*(r.choice([None, r.randint(-7, 7)]) for _ in range(2)), r.choice([None, -2, -1, 1, 2]))
    if kind == 2:
        return [r.random() < 0.5 for _ in range(r.choice([4, 5, 5, 5, 6]))]
    return numbers if kind == 3 else np.array(numbers, dtype=np.int16)


def check_random_indices(count: int, seed: int) -> None:
    """Any index of five rows gives what numpy gives, or is refused by both."""
    r, reference = random.Random(seed), np.arange(5)
    for _ in range(count):
        index = random_index(r)
        try:
            expected = np.atleast_1d(reference[np.zeros(0, int) if isinstance(index, list) and not index else index])
        except IndexError:
            with pytest.raises(IndexError, match=r"^expected"):
                part(index)
            continue
        assert torch.equal(part(index).values, single().values[expected.tolist()]), (seed, index)


def test_random_indices_are_those_of_numpy() -> None:
    check_random_indices(300, 0)


@pytest.mark.slow
def test_random_indices_are_those_of_numpy_for_a_fresh_seed() -> None:
    check_random_indices(20_000, fresh_seed())


@pytest.mark.parametrize("count", [6, np.int64(6), np.uint8(6)], ids=described)
@pytest.mark.parametrize("seed", [3, np.int64(3), np.uint8(3)], ids=described)
def test_samples_take_whole_numbers(count: Any, seed: Any) -> None:
    e = explain(uncertainty=make(gplens.Samples, count, seed))
    assert torch.equal(e.draws, explain(uncertainty=gplens.Samples(6, seed=3)).draws)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((10.5, 0), "count"), ((10.0, 0), "count"), (("10", 0), "count"), ((True, 0), "count"), ((1, 0), "count"),
     ((None, 0), "count"), ((10, 0.0), "seed"), ((10, None), "seed"), ((10, "0"), "seed"), ((10, -1), "seed"),
     ((10, 2**64), "seed"), ((10, False), "seed"), ((10, 0, "no"), "joint"), ((10, 0, 1), "joint")],
    ids=str,
)  # fmt: skip
def test_samples_refuse_anything_else(arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises((ValueError, TypeError), match=naming("Samples", name)):
        make(gplens.Samples, *arguments)


FIXED = [
    gplens.rules.GaussLegendre, gplens.rules.GaussKronrod, gplens.rules.RiemannRight, gplens.rules.RiemannLeft,
    gplens.rules.RiemannMiddle, gplens.rules.Trapezoid,
]  # fmt: skip


@pytest.mark.parametrize("rule", FIXED, ids=lambda rule: rule.__name__)
def test_rules_take_whole_numbers(rule: type[Any]) -> None:
    for count in (np.int64(3), np.uint8(255), np.array(3), torch.tensor(3)):
        expected, got = rule(int(count)).nodes_and_weights(), make(rule, count).nodes_and_weights()
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])
    for count in (0, -1, 2.0, 2.5, True, "2", None):
        with pytest.raises(ValueError, match=naming(rule.__name__, "count")):
            make(rule, count)


@pytest.mark.filterwarnings("ignore:the attributions:gplens.ConvergenceWarning")  # of GaussKronrod, which says so
@pytest.mark.parametrize("rule", FIXED[:-1], ids=lambda rule: rule.__name__)
def test_one_node_is_a_rule(rule: type[Any]) -> None:
    """Its weight is one, as for any number of nodes; a trapezoid needs two."""
    t, w, _ = rule(1).nodes_and_weights()
    assert ((t >= 0) & (t <= 1)).all()
    assert w.sum() == pytest.approx(1, abs=1e-15)
    e = explain(rule=rule(1))
    linear = explain(rule=rule(1), target=gplens.targets.Latent())
    assert e.values.shape == linear.values.shape == X.shape
    with pytest.raises(ValueError, match=naming("Trapezoid", 2, 1)):
        gplens.rules.Trapezoid(1)


def test_the_default_rule_is_public() -> None:
    assert gplens.rules.Adaptive is inspect.getmodule(gplens.rules.Adaptive).Adaptive
    assert "Adaptive" in gplens.rules.__all__
    assert explain().provenance.rule == repr(gplens.rules.Adaptive())
    assert gplens.rules.Adaptive.__module__.rpartition(".")[2] in (gplens.rules.__doc__ or "")


@pytest.mark.parametrize("level", [0.9, np.float32(0.9), np.array(0.9), torch.tensor(0.9)], ids=described)
def test_a_level_is_a_number(level: Any) -> None:
    e = explain(target=gplens.targets.Latent(), uncertainty=gplens.Diagonal())
    interval = inspect.unwrap(gplens.Spread.interval)
    for ours, expected in zip(interval(e.spread, e.values, level), e.interval(0.9), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-6, atol=1e-8)


def test_a_level_or_threshold_that_is_none_is_refused() -> None:
    e = explain(target=gplens.targets.Latent(), uncertainty=gplens.Diagonal())
    for level in (0, 1, -0.5, float("nan"), "0.9", None, True, [0.9]):
        with pytest.raises(ValueError, match=naming("level", 0, 1)):
            inspect.unwrap(gplens.Spread.interval)(e.spread, e.values, level)
    for threshold in (*NEITHER, float("nan"), float("inf"), 10**400):
        with pytest.raises(ValueError, match=naming("Exceeds", "threshold")):
            make(gplens.targets.Exceeds, threshold)
    for threshold in (np.float32(0.5), np.int64(2), torch.tensor(0.5)):
        assert make(gplens.targets.Exceeds, threshold).threshold == threshold


@pytest.mark.parametrize("option", ["target", "rule", "uncertainty"])
def test_false_values_are_not_the_default(option: str) -> None:
    for value in (0, "", False, [], 0.0):
        if option == "uncertainty" and value is False:
            assert explain(uncertainty=False).spread is None
            continue
        with pytest.raises(TypeError, match=naming(option, repr(value))):
            explain(**{option: value})


def test_names_are_texts() -> None:
    for names in (np.array(NAMES), pandas.Index(NAMES), iter(NAMES), dict.fromkeys(NAMES)):
        e = explain(feature_names=names)
        assert e.feature_names == NAMES
        assert {type(name) for name in e.feature_names} == {str}
    for names in ([0, 1, 2, 3], 4, [*NAMES[:3], None], [list(NAMES)], list(NAMES[:3]), [*NAMES[:3], NAMES[0]]):
        with pytest.raises(ValueError, match=naming(4, "feature names")):
            explain(feature_names=names)


def test_groups_are_texts_with_texts() -> None:
    group = inspect.unwrap(Explanation.group)
    expected = single().group({"hour": ["hour_sin", "hour_cos"]})
    for members in (("hour_sin", "hour_cos"), np.array(["hour_sin", "hour_cos"]), iter(["hour_sin", "hour_cos"])):
        assert torch.equal(group(single(), {"hour": members}).values, expected.values)
    for groups in ({1: ["temp"]}, ["temp"], {"a": 3}, {"a": None}, "temp"):
        with pytest.raises(TypeError, match=naming("expected")):
            group(single(), groups)
    for groups in ({"a": [2]}, {"a": [["temp"]]}, {"a": []}, {"a": iter(())}):
        with pytest.raises(ValueError, match=naming("'a'", list(NAMES))):
            group(single(), groups)


WITHOUT = """
import sys
sys.modules[{missing!r}] = None
try:
    {statement}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("missing", "statement", "extra"),
    [
        ("gpytorch", "import gplens.estimators", "[estimators]"),
        pytest.param("sklearn", "import gplens; gplens.estimators", "[estimators]", marks=pytest.mark.slow),
        pytest.param("tqdm", "from gplens.estimators import GPRegressor", "[estimators]", marks=pytest.mark.slow),
        pytest.param("captum", "import gplens.captum", "[captum]", marks=pytest.mark.slow),
    ],
)
def test_modules_without_their_packages_say_what_to_install(missing: str, statement: str, extra: str) -> None:
    code = WITHOUT.format(missing=missing, statement=statement)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert missing in run.stdout
    assert extra in run.stdout


def test_shap_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=naming("shap", "to_shap", "pip install shap")):
        single().to_shap()
