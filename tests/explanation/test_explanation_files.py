"""Explanations as files: bit for bit, whole or refused, never half written."""

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from safetensors.torch import save as to_bytes

from explanations import EVERY_EXPLANATION, all_tensors, single
from gplens import Explanation
from gplens.explanation.storage import BLANK, with_checksum
from messages import naming


@pytest.mark.parametrize("make", EVERY_EXPLANATION, ids=lambda make: make.__name__)
def test_what_is_loaded_is_what_was_saved_bit_for_bit(make: object, tmp_path: Path) -> None:
    e, path = make(), tmp_path / "e.gplens"  # type: ignore[operator]
    e.save(path)
    loaded = Explanation.load(str(path))
    assert all_tensors(loaded).keys() == all_tensors(e).keys()
    for name, tensor in all_tensors(e).items():
        assert torch.equal(tensor, all_tensors(loaded)[name]), name
        assert tensor.dtype == all_tensors(loaded)[name].dtype, name
    for name in ("feature_names", "output_names", "provenance"):
        assert getattr(loaded, name) == getattr(e, name)
    assert repr(loaded) == repr(e)


def test_groups_and_slices_are_saved_too(tmp_path: Path) -> None:
    """NaN inputs of a group stay NaN."""
    part = single()[1:4].group({"hour": ["hour_sin", "hour_cos"]})
    part.save(tmp_path / "e")
    loaded = Explanation.load(tmp_path / "e")
    torch.testing.assert_close(loaded.inputs, part.inputs, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(loaded.values, part.values)


def test_saving_replaces_an_older_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "e"
    path.write_bytes(b"old")
    single().save(path)
    assert Explanation.load(path).feature_names == single().feature_names
    assert os.listdir(tmp_path) == ["e"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "e"
    single().save(path)
    before = path.read_bytes()

    def fail(*arguments: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        single()[0].save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["e"]


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        single().save(tmp_path / "none" / "e")


def test_a_file_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=naming("Explanation.save", tmp_path / "none")):
        Explanation.load(tmp_path / "none")


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_file_is_refused(keep: float, tmp_path: Path) -> None:
    path = tmp_path / "e"
    single().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(ValueError, match=naming("Explanation.save", path)):
        Explanation.load(path)


@pytest.mark.parametrize("content", [b"hello, this is text and no safetensors file", b"PK\x03\x04" * 30, b"\x00" * 64])
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "e").write_bytes(content)
    with pytest.raises(ValueError, match=naming("Explanation.save", tmp_path / "e")):
        Explanation.load(tmp_path / "e")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"gplens": json.dumps({"format": "other"})}])
def test_a_safetensors_file_of_another_program_is_refused(metadata: dict[str, str] | None, tmp_path: Path) -> None:
    save_file({"weight": torch.zeros(3)}, tmp_path / "e", metadata=metadata)
    with pytest.raises(ValueError, match=naming("Explanation.save", tmp_path / "e", "safetensors")):
        Explanation.load(tmp_path / "e")


def _header(path: Path) -> dict[str, object]:
    size = int.from_bytes(path.read_bytes()[:8], "little")
    return json.loads(json.loads(path.read_bytes()[8 : 8 + size])["__metadata__"]["gplens"])


def _replace(path: Path, header: dict[str, object], tensors: dict[str, torch.Tensor]) -> None:
    """Write a file whose checksum holds."""
    path.write_bytes(with_checksum(to_bytes(tensors, metadata={"gplens": json.dumps(header), "checksum": BLANK})))


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e"
    single().save(path)
    _replace(path, {**_header(path), "format_version": 99}, load_file(path))
    with pytest.raises(ValueError, match=naming(path, "format", 99, 4, "gplens")):
        Explanation.load(path)


def test_a_file_that_lacks_a_tensor_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e"
    single().save(path)
    header, tensors = _header(path), load_file(path)
    del tensors["values"]
    _replace(path, header, tensors)
    with pytest.raises(ValueError, match=naming(path, "'values'")):
        Explanation.load(path)


def test_the_header_can_be_read_without_gplens(tmp_path: Path) -> None:
    path = tmp_path / "e"
    single().save(path)
    assert _header(path)["feature_names"] == list(single().feature_names)
