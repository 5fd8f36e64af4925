"""Damaged files of explanations: every one is refused with a sentence, whatever the damage and wherever it is."""

import json
import random
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load as from_bytes
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes

import gplens
from conformance.zoo import KERNELS, fitted, rows
from damage import damaged, edited
from explanations import EVERY_EXPLANATION, all_tensors, single
from gplens import Explanation, Stack
from gplens.baselines import Rows
from gplens.explanation.storage import BLANK, with_checksum
from gplens.links import Exp
from messages import naming
from seeds import fresh_seed

FORMAT_1 = Path(__file__).parent / "format_1"
"""Files that were written before there were checksums."""


@cache
def with_draws() -> Explanation:
    (rbf, _), (matern, _), (X, _) = fitted(KERNELS["rbf"], 72), fitted(KERNELS["matern52"], 73), rows(72, 2)
    request = gplens.Samples(3, seed=0)
    return gplens.explain(Stack((rbf, matern)), X, baseline=0.1, likelihood=Exp(), uncertainty=request)


def contents(folder: Path) -> list[bytes]:
    saved = []
    for make in (*EVERY_EXPLANATION, with_draws):
        make().save(folder / "whole")
        saved.append((folder / "whole").read_bytes())
    return saved


def header_of(content: bytes) -> dict[str, Any]:
    size = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["gplens"])


def refusal(path: Path, content: bytes) -> str | None:
    """The sentence with which a file is refused; None if it is read. Any other error is one of this test."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*format 1, which has no checksum")
        try:
            loaded = Explanation.load(path)
        except ValueError as error:
            return str(error)
    assert repr(loaded)
    return None


def check_damages(count: int, seed: int, folder: Path) -> None:
    r, whole, path = random.Random(seed), contents(folder), folder / "e.gplens"
    for i in range(count):
        sentence = refusal(path, damaged(r.choice(whole), r))
        assert sentence is not None, f"damage {i} of seed {seed} was read"
        assert sentence.startswith("expected a file that Explanation.save wrote, got"), (i, seed, sentence)
        assert str(path) in sentence, (i, seed, sentence)


def test_every_damaged_file_is_refused_with_a_sentence(tmp_path: Path) -> None:
    check_damages(500, 0, tmp_path)


@pytest.mark.slow
def test_every_damaged_file_is_refused_with_a_sentence_for_a_fresh_seed(tmp_path: Path) -> None:
    check_damages(20_000, fresh_seed(), tmp_path)


def test_every_single_flipped_bit_of_a_file_is_noticed(tmp_path: Path) -> None:
    """One bit of every fifth byte, header and tensors."""
    single().save(tmp_path / "e")
    content = (tmp_path / "e").read_bytes()
    for i in range(0, len(content), 5):
        flipped = bytes([*content[:i], content[i] ^ (1 << i % 8), *content[i + 1 :]])
        assert refusal(tmp_path / "e", flipped) is not None, i


def check_edits(count: int, seed: int, folder: Path, *, version: int) -> tuple[int, int]:
    """Other headers and tensors under a checksum that holds, or in a file that has none: a sentence, or no difference.

    Returns how many files were refused and read.
    """
    r, whole, path, read = random.Random(seed), contents(folder), folder / "e.gplens", 0
    for i in range(count):
        content = r.choice(whole)
        header, tensors = {**header_of(content), "format_version": version}, from_bytes(content)
        if r.random() < 0.6:
            header = edited(header, r)
        else:
            tensors = changed(tensors, r)
        checksum = {} if version == 1 else {"checksum": BLANK}
        packed = to_bytes(tensors, metadata={"gplens": json.dumps(header), **checksum})
        sentence = refusal(path, packed if version == 1 else with_checksum(packed))
        read += sentence is None
        assert sentence is None or str(path) in sentence, (i, seed, sentence)
    return count - read, read


def changed(tensors: dict[str, torch.Tensor], r: random.Random) -> dict[str, torch.Tensor]:
    """A tensor that is lost, renamed, exchanged, or of another type or shape."""
    names = sorted(tensors)
    name, other = r.sample(names, 2)
    tensor = tensors[name]
    kind = r.randrange(5)
    if kind == 0:
        return {key: part for key, part in tensors.items() if key != name}
    if kind == 1:
        return {f"{key}_" if key == name else key: part for key, part in tensors.items()}
    if kind == 2:
        return {**tensors, name: tensors[other].clone(), other: tensor.clone()}
    if kind == 3:
        return {**tensors, name: tensor.to(r.choice([torch.int32, torch.bool, torch.float16]))}
    return {**tensors, name: r.choice([tensor[:-1], tensor[None], tensor.flatten(), tensor[..., :0]]).contiguous()}


@pytest.mark.parametrize("version", [1, 2])
def test_parts_that_do_not_fit_are_refused_with_a_sentence(version: int, tmp_path: Path) -> None:
    """What is read in spite of an edit are texts (names, notes) and exchanged tensors of one shape."""
    refused, _ = check_edits(300, version, tmp_path, version=version)
    assert refused > 150


def test_damage_to_a_file_without_checksum_is_no_raw_error(tmp_path: Path) -> None:
    r, path = random.Random(0), tmp_path / "e.gplens"
    whole = [file.read_bytes() for file in sorted(FORMAT_1.iterdir())]
    sentences = [refusal(path, damaged(r.choice(whole), r)) for _ in range(400)]
    assert all(sentence is None or str(path) in sentence for sentence in sentences)


@pytest.mark.parametrize("file", sorted(FORMAT_1.iterdir()), ids=lambda file: file.name)
def test_files_of_format_1_are_read_with_a_warning(file: Path, tmp_path: Path) -> None:
    """To the bit, as safetensors reads them; saved again, they have a checksum."""
    with pytest.warns(UserWarning, match=naming(file, "format 1", "checksum")):
        loaded = Explanation.load(file)
    tensors = {name.replace("spread.converged", "spread_converged"): t for name, t in all_tensors(loaded).items()}
    stored = load_file(file)
    assert {name.removeprefix("spread.") for name in tensors} == set(stored)
    for name, tensor in tensors.items():
        assert torch.equal(tensor, stored[name.removeprefix("spread.")]), name
    loaded.save(tmp_path / "e")
    assert repr(Explanation.load(tmp_path / "e")) == repr(loaded)


def test_a_feature_whose_name_looks_like_a_checksum_is_an_ordinary_one(tmp_path: Path) -> None:
    names = (f'"checksum":"{BLANK}"', f'"checksum": "{BLANK}"', BLANK, '\\"checksum\\":\\"')
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 71), rows(71, 5)
    e = gplens.explain(posterior, X, baseline=Rows(X0), likelihood=Exp(), feature_names=names)
    for i in range(20):  # the order of the entries in a safetensors header is random
        e.save(tmp_path / f"{i}")
        assert Explanation.load(tmp_path / f"{i}").feature_names == names


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=naming(tmp_path, "Explanation.save", "gplens.estimators.load")):
        Explanation.load(tmp_path)
    with pytest.raises(IsADirectoryError, match=naming(tmp_path)):
        single().save(tmp_path)
