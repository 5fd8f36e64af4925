"""Seeds that move: fixed in the tests that decide about a merge, fresh and printed in the slow ones."""

import os
import secrets


def fresh_seed() -> int:
    """A new seed in every run, or that of the environment variable GPLENS_SEED. Show it in the message of an assert."""
    given = os.environ.get("GPLENS_SEED")
    return secrets.randbits(32) if given is None else int(given)
