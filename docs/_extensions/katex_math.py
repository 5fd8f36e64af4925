"""Formulas as KaTeX sets them in the browser, from files of the site itself: nothing is fetched.

`\\tag{4.2}` of a display is also the anchor `#eq-4.2`, so that pages can link to an equation.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

FILES = ("katex/katex.min.css",), ("katex/katex.min.js", "katex_render.js")


def inline(self: Any, node: nodes.math) -> None:
    """A formula within a sentence."""
    self.body.append(f'<span class="math inline">{escape(node.astext())}</span>')
    raise nodes.SkipNode


def display(self: Any, node: nodes.math_block) -> None:
    """A formula on lines of its own, after an empty anchor for each of its numbers."""
    text = node.astext()
    anchors = "".join(f'<span id="eq-{tag}"></span>' for tag in re.findall(r"\\tag\{([\d.]+[a-z]?)\}", text))
    self.body.append(f'{anchors}<div class="math display">{escape(text)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer, and the files on every page."""
    app.add_html_math_renderer("katex", inline_renderers=(inline, None), block_renderers=(display, None))
    for style in FILES[0]:
        app.add_css_file(style)
    for script in FILES[1]:
        app.add_js_file(script, loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
