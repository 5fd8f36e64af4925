"""The names that the examples of docstrings begin with, as the pages of docs/api show them."""

import re
import warnings
from pathlib import Path
from typing import Any

API = Path(__file__).parents[1] / "docs" / "api"


def session(module: str) -> dict[str, Any]:
    """What the code at the top of docs/api/index.md binds, and that of the module's own page if it has any."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # frameworks warn when they are imported and fitted
        for page in (API / "index.md", API / f"{module.removeprefix('gplens.')}.md"):
            for source in re.findall(r"```\{run\}\n(?::\w+:[^\n]*\n)*(.*?)```", page.read_text(), flags=re.DOTALL):
                exec(source, names)
    return names
