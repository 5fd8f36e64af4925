"""What an explanation prints: names, numbers, and whether they can be trusted."""

from dataclasses import replace

import pytest
import torch

import gplens
from conformance.zoo import KERNELS, fitted, rows
from explanations import background, fixed, several, single
from gplens.baselines import Rows
from gplens.links import Exp
from gplens.uncertainty import refinement
from gplens.uncertainty.grid import Level
from messages import naming


def test_the_text_says_what_was_explained_and_how_well() -> None:
    e, text = single(), repr(single())
    assert text.startswith(
        "Explanation of 5 inputs, 4 features: Response() of Posterior relative to Rows(X0 with 5 rows)"
    )
    before, after = float(e.baseline_prediction[0]), float(e.prediction[0])
    assert f"input 0: baseline {before:.6g} -> prediction {after:.6g} ({after - before:+.6g})" in text
    for k, name in enumerate(e.feature_names):
        line = next(line for line in text.splitlines() if line.strip().startswith(name))
        assert f"= {float(e.inputs[0, k]):.6g}" in line
        assert f"{float(e.values[0, k]):+.5g}" in line
    assert "... 3 more inputs; explanation[i] shows one" in text
    assert f"largest |gap| {float(e.gap.abs().max()):.1e}" in text
    assert "largest estimated error" in text
    assert "path nodes" in text
    assert "NOT CONVERGED" not in text


def test_features_are_sorted_by_size_with_bars_to_scale() -> None:
    e = single()[0]
    lines = [line for line in repr(e).splitlines() if line.startswith("    ")]
    order = e.values[0].abs().argsort(descending=True).tolist()
    assert [line.split()[0] for line in lines] == [e.feature_names[k] for k in order]
    top = "+" if e.values[0, order[0]] > 0 else "-"
    assert lines[0].endswith(top * 16)
    assert "more inputs" not in repr(e)


def test_inputs_that_did_not_converge_are_counted() -> None:
    bad = replace(single(), converged=torch.tensor([True, False, True, False, True]))
    assert "NOT CONVERGED for 2 of 5 inputs" in repr(bad)
    assert "NOT CONVERGED for 1 of 1 input" in repr(bad[1])
    assert "NOT CONVERGED" not in repr(bad[0])


def test_values_and_deviations_that_did_not_converge_are_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deviations have one or two nodes for a path of several lengthscales, values as many as they need."""
    monkeypatch.setattr(refinement, "SMOOTH", (Level(1, 2, 1.0), Level(2, 3, 1.0)) * 4)
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 71), rows(71, 2)
    request = {"likelihood": Exp(), "uncertainty": gplens.Diagonal()}
    with pytest.warns(
        gplens.ConvergenceWarning, match=naming("standard deviations of 2 of 2 inputs", "tolerance=1e-2")
    ):
        e = gplens.explain(posterior, 3 * X, baseline=Rows(X0), **request)
    assert e.spread is not None
    assert e.spread.converged is not None
    assert e.converged is not None
    assert not e.spread.converged.any()
    assert e.converged.all()
    assert "STANDARD DEVIATIONS NOT CONVERGED for 2 of 2 inputs" in repr(e)
    assert repr(e).count("NOT CONVERGED") == 1
    fixed = {"baseline": Rows(X0), "rule": gplens.rules.GaussLegendre(4)}
    with pytest.warns(gplens.ConvergenceWarning, match=naming("standard deviations", 2)):
        fixed_rule = gplens.explain(posterior, 3 * X, **fixed, **request)
    assert fixed_rule.converged is None
    assert fixed_rule.spread is not None
    assert torch.equal(fixed_rule.spread.converged, e.spread.converged)


def test_several_outputs_show_the_largest() -> None:
    e = several()
    assert "Explanation of 3 inputs, 2 outputs, 4 features" in repr(e)
    assert f"input 0, output {int(e.prediction[0].argmax())}: baseline" in repr(e)


def test_what_is_unknown_is_not_printed() -> None:
    assert "estimated error" not in repr(fixed())
    assert "8 path nodes" in repr(fixed())
    assert "Sample(X with 3 rows)" in repr(background())


def test_a_group_has_no_input_value() -> None:
    text = repr(single().group({"hour": ["hour_sin", "hour_cos"]}))
    assert "=" not in next(line for line in text.splitlines() if "hour" in line)
    assert "nan" not in text


def test_many_features_are_summed_up() -> None:
    e = single()
    wide = replace(
        e,
        values=e.values.repeat(1, 4),
        error=None,
        inputs=e.inputs.repeat(1, 4),
        baseline=e.baseline.repeat(1, 4),
        feature_names=tuple(f"f{i}" for i in range(16)),
    )
    largest = wide.values[0].abs().argsort(descending=True)
    rest = float(wide.values[0, largest[10:]].sum())
    assert f"6 other features: {rest:+.5g}" in repr(wide)
