"""The site's extensions: blocks of Python run when a page is read, and one that fails or warns fails the build."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXTENSIONS = Path(__file__).parents[1] / "docs" / "_extensions"
CONF = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
extensions = ["myst_parser", "run_code", "run_plain_blocks"]
"""


def build(folder: Path, page: str) -> subprocess.CompletedProcess[str]:
    (folder / "conf.py").write_text(CONF)
    (folder / "index.md").write_text(f"# Page\n\n{page}")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(folder), str(folder / "out")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n", None),
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```{run}\nraise OSError('no disk')\n```\n", "no disk"),
        ("```{run}\nimport warnings\nwarnings.warn('beware')\n```\n", "beware"),
        ("```{run}\n:warnings:\nimport warnings\nwarnings.warn('beware')\nprint(6 * 7)\n```\n", None),
    ],
)
def test_blocks_run(tmp_path: Path, page: str, found: str | None) -> None:
    result = build(tmp_path, page)
    if found is None:
        assert result.returncode == 0, result.stderr
    else:
        assert result.returncode != 0
        assert found in result.stderr


def test_what_a_block_prints_stands_below_it(tmp_path: Path) -> None:
    assert build(tmp_path, "```{run}\nprint('six times', 7)\n```\n").returncode == 0
    assert "six times 7" in (tmp_path / "out" / "index.html").read_text()
