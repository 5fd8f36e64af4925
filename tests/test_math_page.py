"""The formulas of the documentation are well formed, and every equation that the code cites exists."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_formulas_parse_and_cited_equations_exist() -> None:
    run = subprocess.run(
        [sys.executable, "scripts/check_math.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 failures" in run.stdout


def test_a_citation_of_an_equation_that_does_not_exist_is_found(tmp_path: Path) -> None:
    """The check fails on a copy of the documentation from which one cited equation is taken out."""
    for name in ("docs", "scripts"):
        (tmp_path / name).mkdir()
    (tmp_path / "scripts" / "check_math.py").write_text((ROOT / "scripts" / "check_math.py").read_text())
    page = (ROOT / "docs" / "MATH.md").read_text()
    assert r"\tag{4.2}" in page
    (tmp_path / "docs" / "MATH.md").write_text(page.replace(r"\tag{4.2}", ""))
    (tmp_path / "docs" / "PAPER.md").write_text((ROOT / "docs" / "PAPER.md").read_text())
    for name in ("src", "tests", "benchmarks", "README.md", "CHANGELOG.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    run = subprocess.run(
        [sys.executable, "scripts/check_math.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode != 0
    assert "4.2" in run.stdout + run.stderr
