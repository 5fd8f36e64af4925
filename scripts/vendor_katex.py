"""Renew KaTeX, which sets the formulas of the documentation, as its authors publish it: script, style, fonts, licence.

    python scripts/vendor_katex.py            the version below
    python scripts/vendor_katex.py --check    say whether the files in the repository are those of npm

Needs npm, which fetches the package into a temporary folder; the site is built and read without a network.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "_static" / "katex"
VERSION = "0.16.22"


def kept(member: str) -> str | None:
    """The name that a file of the package has in the folder; None if the site does not need it."""
    name = member.removeprefix("package/").removeprefix("dist/")
    wanted = name in ("katex.min.js", "katex.min.css", "LICENSE") or name.endswith(".woff2")
    return name if wanted else None


def files() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"katex@{VERSION}"], cwd=folder, check=True)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                name, content = kept(member.name), tar.extractfile(member) if member.isfile() else None
                if name is not None and content is not None:
                    found[name] = content.read()
    return found


def main() -> int:
    wrong, packed = 0, files()
    for name, content in packed.items():
        path = FOLDER / name
        wrong += not (path.exists() and path.read_bytes() == content)
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    size = sum(map(len, packed.values()))
    print(f"KaTeX {VERSION}: {len(packed)} files, {size:,} bytes, {wrong} differed")
    return int(bool(wrong) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
