"""The file: a template, styles, the chart library, our modules as one script, and the data, with a strict policy."""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from typing import Any

from gplens.page.packing import to_script

VENDOR = ("d3.min.js", "plot.umd.min.js")
IMPORT = re.compile(r"^import [^;]* from \"\./(\w+)\.js\";\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


def page_html(content: dict[str, Any], title: str) -> str:
    """The whole file. The scripts read `content`, no part of which becomes HTML."""
    scripts = [*(_read(f"vendor/{name}") for name in VENDOR), script()]
    for code in scripts:
        assert "</script" not in code
    hashes = " ".join(f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" for code in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    parts = {
        "POLICY": policy,
        "TITLE": escape(title),
        "STYLE": _read("page.css"),
        "DATA": to_script(content),
        "SCRIPTS": "\n".join(f"<script>{code}</script>" for code in scripts),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("page.html"))


@cache
def script() -> str:
    """Our modules without imports and exports, inside one function, so that they define no global names."""
    return '(() => {\n"use strict";\n' + "\n".join(map(_inlined, modules())) + "\n})();"


def modules() -> tuple[str, ...]:
    """The names of our modules, each after those that it imports."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        for imported in IMPORT.findall(_read(f"js/{name}.js")):
            visit(imported)
        order.setdefault(name)

    visit("main")
    return tuple(order)


def _inlined(name: str) -> str:
    """A module as part of one script, where the names of the modules before it are defined."""
    return EXPORT.sub("", IMPORT.sub("", _read(f"js/{name}.js")))


def _read(name: str) -> str:
    return resources.files("gplens.page").joinpath(name).read_text(encoding="utf-8")
