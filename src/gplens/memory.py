"""How much memory temporaries may take."""

import os
from functools import cache

import torch

LEAST = 2**20
"""Bytes below which a budget is taken for a mistake, such as megabytes."""
MAPPED = 2**25 - 2**13
"""Bytes of the largest block whose release malloc learns from."""


def budget(asked: int | None) -> int:
    """The bytes asked for, or a quarter of what the machine has free."""
    if asked is None:
        return max(LEAST, free() // 4)
    if asked < LEAST:
        raise ValueError(f"memory={asked}: wanted was a number of bytes, {LEAST} or more, such as 2**30.")
    return asked


def free() -> int:
    """Bytes of physical memory that no process uses; where the system does not tell, those that it has."""
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"
    return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")


@cache
def keep_freed() -> None:
    """Once in a process: let glibc's malloc keep what the blocks of a computation free, rather than hand it back.

    It keeps twice the size of the largest mapped block that it ever freed, up to 64 MB; what is beyond it hands back,
    and takes anew with a fault for every page. So one such block is freed here, which was never touched and took no
    memory. Other allocators do not mind. Recipe: benchmarks/blocks.py
    """
    torch.empty(MAPPED, dtype=torch.uint8)
