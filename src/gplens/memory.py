"""How much memory temporaries may take."""

import os

LEAST = 2**20
"""Bytes below which a budget is taken for a mistake, such as megabytes."""


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
