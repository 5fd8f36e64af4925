"""Pictures of the gallery: every axes or figure that a script has bound to a name, though pyplot does not know it."""

from pathlib import Path
from textwrap import indent
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

SEEN: list[Any] = []
"""What was drawn already; kept, so that no new object has the identity of an old one."""


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The new pictures after one block of a script."""
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Axes | Figure) and not any(value is seen for seen in SEEN):
            SEEN.append(value)
            figure: Any = value if isinstance(value, Figure) else value.figure.figure  # type: ignore[union-attr]
            path = next(block_vars["image_path_iterator"])
            figure.savefig(path, dpi=110)
            paths.append(path)
    if not paths:
        return ""
    title = Path(block_vars["src_file"]).read_text().split("\n")[1]
    drawn = figure_rst(paths, gallery_conf["src_dir"], fig_titles=title)
    return f".. container:: picture\n\n{indent(drawn, '    ')}\n\n"


def _get_sg_image_scraper() -> Any:
    return scrape
