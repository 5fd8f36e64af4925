"""Seeds that move: another one in every slow run, printed at its end."""

import os


def fresh_seed() -> int:
    """That of the run, which tests/conftest.py draws unless the environment variable GPLENS_SEED repeats a run."""
    return int(os.environ["GPLENS_SEED"])
