"""Seeds that move: another one in every slow run. A test names its seed where it fails."""

import os
import secrets


def fresh_seed() -> int:
    """A random seed, or that of the environment variable GPLENS_SEED, with which a failure is repeated."""
    return int(os.environ.get("GPLENS_SEED", secrets.randbits(32)))
