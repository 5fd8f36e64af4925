"""Random paths, half of which pass a support point closely: no converged attribution is off by more than it says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", ["1e-6", "1e-4", "1e-9"])
def test_random_paths(tolerance: str) -> None:
    """The command that SPEED.md names, with fewer paths."""
    command = [sys.executable, "scripts/stated_errors.py", "--paths", "400", "--tolerance", tolerance]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
