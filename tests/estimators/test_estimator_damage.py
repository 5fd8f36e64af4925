"""Damaged folders of models and damaged checkpoints: every one is refused with a sentence."""

import json
import random
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from estimator_tables import KINDS, fitted, table
from safetensors.torch import save as to_bytes

from damage import damaged, edited
from gplens.estimators import GPClassifier, GPRegressor, load
from gplens.estimators.loading import JSON
from gplens.estimators.training.checkpoint import NAME, Checkpoint, State
from gplens.estimators.training.monitor import Best
from gplens.explanation.storage import BLANK, with_checksum
from messages import naming
from seeds import fresh_seed

FORMAT_1 = Path(__file__).parent / "format_1"
"""Folders that were written before there were checksums."""


def refusal(folder: Path) -> str | None:
    """The sentence with which a folder is refused; None if it is read. Any other error is one of this test."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*format 1, which has no checksum")
        try:
            load(folder)
        except (ValueError, FileNotFoundError) as error:
            return str(error)
    return None


def damage_one_file(folder: Path, r: random.Random) -> None:
    file = r.choice(sorted(folder.iterdir()))
    if r.random() < 0.05:
        file.unlink()
    else:
        file.write_bytes(damaged(file.read_bytes(), r))


def check_damages(count: int, seed: int, kinds: list[str], tmp_path: Path) -> None:
    r = random.Random(seed)
    for kind in kinds:
        fitted(kind).save(tmp_path / "whole" / kind)
    for i in range(count):
        folder = tmp_path / "damaged"
        shutil.copytree(tmp_path / "whole" / r.choice(kinds), folder)
        damage_one_file(folder, r)
        sentence = refusal(folder)
        assert sentence is not None, f"damage {i} of seed {seed} was read"
        assert str(folder) in sentence, (i, seed, sentence)
        assert sentence.startswith("expected"), (i, seed, sentence)
        shutil.rmtree(folder)


def test_every_damaged_folder_is_refused_with_a_sentence(tmp_path: Path) -> None:
    check_damages(400, 0, ["exact", "probit"], tmp_path)


@pytest.mark.slow
def test_every_damaged_folder_is_refused_with_a_sentence_for_a_fresh_seed(tmp_path: Path) -> None:
    check_damages(2000, fresh_seed(), list(KINDS), tmp_path)


def check_edits(count: int, seed: int, tmp_path: Path) -> int:
    """JSON with other entries, under a checksum that holds or in a folder of format 1: a sentence, or it is read."""
    r, refused = random.Random(seed), 0
    for kind in ("exact", "probit"):
        fitted(kind).save(tmp_path / kind)
    for i in range(count):
        source = r.choice([FORMAT_1 / "exact", FORMAT_1 / "probit", tmp_path / "exact", tmp_path / "probit"])
        folder = tmp_path / "edited"
        shutil.copytree(source, folder)
        header = json.loads((folder / JSON).read_text())
        other = edited(header, r)
        if source.parent != FORMAT_1:
            other = {**other, "checksum": BLANK}
        content = json.dumps(other).encode()
        (folder / JSON).write_bytes(content if source.parent == FORMAT_1 else with_checksum(content))
        sentence = refusal(folder)
        refused += sentence is not None
        assert sentence is None or str(folder) in sentence, (i, seed, sentence)
        shutil.rmtree(folder)
    return refused


def test_json_with_other_entries_is_no_raw_error(tmp_path: Path) -> None:
    """What is read in spite of an edit are parameters and notes."""
    assert check_edits(60, 1, tmp_path) > 30


@pytest.mark.slow
def test_json_with_other_entries_is_no_raw_error_for_a_fresh_seed(tmp_path: Path) -> None:
    check_edits(300, fresh_seed(), tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exact", [955.2502944108178, 904.3379438389684, 1003.5108403878095]),
        ("probit", [0.5642471207493209, 0.6118544921576741, 0.7249375719765068]),
    ],
)
def test_folders_of_format_1_are_read_with_a_warning(name: str, expected: list[float], tmp_path: Path) -> None:
    """They predict what they predicted when they were saved; saved again, they have a checksum."""
    with pytest.warns(UserWarning, match=naming(FORMAT_1 / name / JSON, "format 1", "checksum")):
        model = load(FORMAT_1 / name)
    X = table(3, seed=8)[0]
    predicted = model.predict_proba(X)[:, 1] if isinstance(model, GPClassifier) else model.predict(X)
    np.testing.assert_allclose(predicted, expected, rtol=1e-8)
    model.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path).predict(X), model.predict(X))


def test_the_tensors_of_another_model_are_refused(tmp_path: Path) -> None:
    for kind in ("exact", "probit"):
        fitted(kind).save(tmp_path / kind)
    theirs = next((tmp_path / "probit").glob("*.safetensors"))
    ours = next((tmp_path / "exact").glob("*.safetensors"))
    shutil.copy(theirs, ours)
    with pytest.raises(ValueError, match=naming(tmp_path / "exact", ours.name, "SHA-256")):
        load(tmp_path / "exact")


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=naming(tmp_path / "file", "folder")):
        load(tmp_path / "file")
    with pytest.raises(FileNotFoundError, match=naming(tmp_path / "none", "folder")):
        GPRegressor.load(tmp_path / "none")
    with pytest.raises(NotADirectoryError, match=naming(tmp_path / "file", "folder")):
        fitted("exact").save(tmp_path / "file")


def test_every_damaged_checkpoint_is_refused_with_a_sentence(tmp_path: Path) -> None:
    r, checkpoint = random.Random(0), Checkpoint(tmp_path, "fingerprint")
    tensors = {"model.a": torch.randn(3, 2), "q.b": torch.randn(4).double()}
    checkpoint.save(State(7, tensors, Best(-1.5, 5, 1, tensors)))
    state, content = checkpoint.load(), (tmp_path / NAME).read_bytes()
    assert state is not None
    assert (state.step, state.best.value, state.best.step, state.best.looks) == (7, -1.5, 5, 1)
    assert all(torch.equal(tensor, state.best.tensors[name]) for name, tensor in tensors.items())
    old = {
        "format": "gplens checkpoint",
        "fingerprint": "fingerprint",
        "step": 7,
    }  # as versions without checksums wrote it
    for other in (to_bytes(tensors, metadata={"gplens": json.dumps(old)}), *(damaged(content, r) for _ in range(400))):
        (tmp_path / NAME).write_bytes(other)
        with pytest.raises(ValueError, match=naming(tmp_path / NAME, "delete")):
            checkpoint.load()
