"""The directive `run`: code that is shown, run when the site is built, and followed by what it printed and drew.

All blocks of a page are one session, from top to bottom. A block that raises an error, or warns, fails the build.

    ```{run}
    :alt: what the picture shows
    explanation.plot()
    ```

As in a notebook, the value of the last expression is shown. `:hidden:` runs code that is not worth reading,
`:warnings:` code of other libraries that warns.
"""

import ast
import contextlib
import io
import logging
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PICTURES = "_pictures"
"""The folder of docs for pictures that pages draw; git ignores it."""
SESSIONS: dict[str, dict[str, Any]] = {}
"""The names that the blocks of each page have bound."""


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without warnings and remarks of other libraries."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(logging.NOTSET)


@contextlib.contextmanager
def strictly() -> Iterator[None]:
    """With warnings of gplens as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


def execute(source: str, session: dict[str, Any], page: str, *, strict: bool) -> tuple[str, Figure | None]:
    """What a block prints, and the figure that its last expression is."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(io.StringIO()) as printed, strictly() if strict else quietly():
        exec(compile(tree, page, "exec"), session)
        value = None if last is None else eval(compile(last, page, "eval"), session)
        if isinstance(value, Axes | Figure):
            return printed.getvalue(), value if isinstance(value, Figure) else value.figure.figure  # type: ignore[union-attr]
        if value is not None:
            print(value)
    return printed.getvalue(), None


class Run(SphinxDirective):
    """A block of Python that runs."""

    has_content = True
    option_spec: ClassVar[Any] = {"hidden": directives.flag, "warnings": directives.flag, "alt": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        source, page = "\n".join(self.content), self.env.docname
        session = SESSIONS.setdefault(page, {"__name__": "__main__"})
        try:
            printed, figure = execute(source, session, page, strict="warnings" not in self.options)
        except BaseException:
            raise self.error(f"the code of {page} fails:\n{traceback.format_exc()}") from None
        shown: list[nodes.Node] = []
        if "hidden" not in self.options:
            shown.append(nodes.literal_block(source, source, language="python", classes=["ran"]))
        if printed.strip():
            text = printed.rstrip()
            shown.append(nodes.literal_block(text, text, language="text", classes=["output"]))
        if figure is not None:
            shown.append(self.picture(figure))
        for node in shown:
            self.set_source_info(node)
        return shown

    def picture(self, figure: Figure) -> nodes.container:
        """The figure as a file beside the pages, named by page and line."""
        if "alt" not in self.options:
            raise self.error("expected :alt: for a block that draws a picture, got none; say what it shows.")
        name = f"{self.env.docname.replace('/', '-')}-{self.lineno}.png"
        path = Path(self.env.srcdir) / PICTURES / name
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=110)
        image = nodes.image(uri=f"/{PICTURES}/{name}", alt=self.options["alt"], classes=["drawn"])
        return nodes.container("", image, classes=["picture"])  # which scrolls on a phone


def forget(app: Sphinx, docname: str, source: list[str]) -> None:
    """A page that is read again begins a new session."""
    SESSIONS.pop(docname, None)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("run", Run)
    app.connect("source-read", forget)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
