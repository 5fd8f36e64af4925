"""The code of docs/FRAMEWORKS.md."""

import re
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "FRAMEWORKS.md").read_text()


def run(section: str, **names: Any) -> dict[str, Any]:
    """The block of code below a heading, with these names; what is defined afterwards."""
    below = PAGE[PAGE.index(f"\n## {section}\n") :]
    block = re.search(r"```python\n(.*?)```", below, flags=re.DOTALL)
    assert block is not None
    exec(block.group(1), names)
    return names
