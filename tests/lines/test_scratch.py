"""Memory that blocks of rows reuse."""

import pytest
import torch

from gplens.lines import line
from gplens.lines.line import Scratch


def test_tensors_of_a_block_do_not_overlap_and_the_next_block_has_their_memory() -> None:
    memory = Scratch()
    first, second = memory.empty((3, 5)).fill_(1.0), memory.empty((2, 2)).fill_(2.0)
    assert bool((first == 1.0).all())
    assert second.data_ptr() % 64 == memory.memory.data_ptr() % 64
    memory.reset()
    assert memory.empty((15,)).data_ptr() == first.data_ptr()


def test_a_tensor_that_does_not_fit_has_memory_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "SIZE", 20)
    memory = Scratch()
    inside, outside = memory.empty((16,)).zero_(), memory.empty((16,)).fill_(3.0)
    assert torch.equal(inside, torch.zeros(16).double())
    assert memory.empty((4,)).data_ptr() == memory.memory.data_ptr() + 16 * 8
    assert bool((outside == 3.0).all())
