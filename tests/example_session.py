"""The names that the examples of docstrings begin with, as docs/api/index.md shows them."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "api" / "index.md"


def session() -> dict[str, Any]:
    """What the code at the top of the API pages binds; a fresh one for every docstring."""
    (source,) = re.findall(r"```\{run\}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(source, names)
    return names
