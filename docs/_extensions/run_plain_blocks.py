"""Plain blocks of Python on a page run in the build too, from top to bottom in one session, in an empty folder.

Pages that are read on other sites as well show code about the reader's own `model` or `frame`. What stands for these is
in docs/stand_ins: a file for each page, divided by lines `# %% 3` into what runs before the third block, and by
`# %% end`.
The gallery runs its own scripts, and blocks of the directive `run` have run already.
"""

import contextlib
import io
import re
import tempfile
import traceback
from pathlib import Path
from typing import Any

from docutils import nodes
from run_code import quietly
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
STAND_INS = Path(__file__).parents[1] / "stand_ins"


def cells_of(page: str) -> dict[str, str]:
    """What runs before which block of a page; "" is what runs before the first one."""
    path = STAND_INS / f"{page.replace('/', '-')}.py"
    parts = re.split(r"^# %% (\w+)$", path.read_text() if path.exists() else "", flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def run_page(app: Sphinx, doctree: nodes.document) -> None:
    """Run the blocks of the page that was read."""
    page = app.env.docname
    blocks = [node for node in doctree.findall(nodes.literal_block) if node.get("language") == "python"]
    blocks = [block for block in blocks if "ran" not in block["classes"]]
    if not blocks or page.startswith("auto_examples/"):
        return
    cells, session = cells_of(page), {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run(cells[""], session, page, blocks[0])
        for number, block in enumerate(blocks, start=1):
            run(cells.get(str(number), ""), session, page, block)
            run(block.astext(), session, page, block)
        run(cells.get("end", ""), session, page, blocks[-1])
    LOGGER.info("%s: %d blocks ran", page, len(blocks))


def run(source: str, session: dict[str, Any], page: str, block: nodes.Node) -> None:
    """One block; an error fails the build. Warnings are those of other libraries, or of a model of a few rows."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), quietly():
            exec(compile(source, page, "exec"), session)
    except BaseException:
        LOGGER.warning("a block of %s fails:\n%s", page, traceback.format_exc(), location=block)


def setup(app: Sphinx) -> dict[str, Any]:
    """After a page was read."""
    app.connect("doctree-read", run_page)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
