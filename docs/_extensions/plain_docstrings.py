"""Docstrings of gplens are plain text: `name` is code, and |x|, x_ and * mean themselves.

reStructuredText would read them as substitutions, references and emphasis. This runs before napoleon.
"""

import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"``[^`]+``|`[^`]+`")
SPECIAL = re.compile(r"(\\|\*|\||_(?=\W|$)|(?<=\w)_(?=\w)|(?<=\W)_(?=\w))")


def plain(line: str) -> str:
    """One line, with code as literals and everything else as it stands."""
    parts, end = [], 0
    for code in CODE.finditer(line):
        parts += [SPECIAL.sub(r"\\\1", line[end : code.start()]), f"``{code[0].strip('`')}``"]
        after = line[code.end() : code.end() + 1]
        parts += ["\\ "] if after.isalnum() or after in ("(", "[") else []
        end = code.end()
    return "".join([*parts, SPECIAL.sub(r"\\\1", line[end:])])


def convert(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Every line but those of examples, which run to the next empty line; arguments keep their names as they are."""
    if what == "module":
        lines.clear()  # the page says what the module is
    example = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        argument = re.match(r"(\s+[\w, ]+: )(.*)", line)
        if not example:
            lines[i] = argument[1] + plain(argument[2]) if argument else plain(line)


def setup(app: Sphinx) -> dict[str, Any]:
    """Before napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", convert, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
