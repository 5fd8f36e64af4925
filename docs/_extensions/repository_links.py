"""Pages of the repository are read on GitHub and on the site: links between them lead to the right place in both.

`../CONTRIBUTING.md` and the like are pages of the site under project/; other files outside of docs are named only.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)\s#]+)(#[^)\s]+)?\)")
ON_THE_SITE = {
    "../CONTRIBUTING.md": "project/contributing.md",
    "../CHANGELOG.md": "project/changelog.md",
    "../benchmarks/results.md": "project/benchmarks.md",
}


def lead(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links of the pages at the top of docs."""

    def target(link: re.Match[str]) -> str:
        text, file, anchor = link[1], link[2], link[3] or ""
        if file in ON_THE_SITE:
            return f"[{text}]({ON_THE_SITE[file]}{anchor})"
        return text if (Path(app.srcdir) / file).exists() else link[0]

    if "/" not in docname:
        source[0] = LINK.sub(target, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Before the pages are parsed."""
    app.connect("source-read", lead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
