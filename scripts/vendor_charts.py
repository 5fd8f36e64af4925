"""Renew the chart library that pages carry: Observable Plot and D3, minified as their authors publish them.

    python scripts/vendor_charts.py            the versions below
    python scripts/vendor_charts.py --check    say whether the files in the repository are those of npm

Needs npm, which fetches the packages into a temporary folder; the page itself is built without it.
"""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "gplens" / "page" / "vendor"
PACKAGES = {"d3": ("7.9.0", "dist/d3.min.js"), "@observablehq/plot": ("0.6.17", "dist/plot.umd.min.js")}
"""The version of each package, and the file that the page carries."""


def files() -> dict[str, bytes]:
    """The scripts and their licences, by the names that they have in the folder."""
    found = {}
    for package, (version, script) in PACKAGES.items():
        name = package.rpartition("/")[2]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["npm", "pack", "--silent", f"{package}@{version}"], cwd=folder, check=True)
            (archive,) = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as tar:
                for path, kept in ((script, Path(script).name), ("LICENSE", f"{name}.LICENSE")):
                    member = tar.extractfile(f"package/{path}")
                    assert member is not None, path
                    found[kept] = member.read()
    return found


def main() -> int:
    wrong = 0
    for name, content in files().items():
        path = FOLDER / name
        same = path.exists() and path.read_bytes() == content
        if "--check" not in sys.argv:
            path.write_bytes(content)
        wrong += not same
        state = "same" if same else "new"
        print(f"{name}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}, {state}")
    return int(bool(wrong) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
