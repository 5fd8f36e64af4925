"""Check the formulas of docs/, and that docs/MATH.md has each equation number that the code cites, once.

    npm install --prefix katex katex
    python scripts/check_math.py --katex katex

The first command needs the network, once. Without `--katex` only the numbers and delimiters are checked. Formulas are
parsed by KaTeX in strict mode through node, and must not contain what Markdown renderers change before a formula is
parsed: a backslash before punctuation, an asterisk, or a vertical bar. The remedy is in each message.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MATH_PAGE, PAPER_PAGE = ROOT / "docs" / "MATH.md", ROOT / "docs" / "PAPER.md"
RECIPES = ROOT / "docs" / "project"
"""Pages that add equations as examples."""
READERS = ("src", "tests", "benchmarks", "scripts", "docs", "README.md", "CHANGELOG.md")

NUMBER = r"[1-9]\d?\.\d+[a-z]?"
MATH = re.compile(r"\$\$(?P<display>.+?)\$\$|(?<![\w$`])\$(?P<inline>[^$\n]+?)\$(?![\w$])", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
CITED = re.compile(rf"# \(({NUMBER})\)|\bMATH ({NUMBER})|  \(({NUMBER})\)[.\"]")
"""A number at the end of a line of code, after the word MATH, or at the end of a docstring's formula."""

FRAGILE = {
    r"\\[!-/:-@\[-`{-~]": r"a backslash before punctuation; write \lbrace, \thinspace, \lVert or \cr",
    r"\*": r"an asterisk; write \ast or \cdot",
    r"\|": r"a vertical bar; write \mid, \lvert or \rvert",
    r"[<>]": r"a < or >; write \lt or \gt",
    r"(?s)\\begin\{aligned\}.*\\tag": "numbers inside aligned, which has room for one; write align",
}

PARSE = """
const katex = require(process.argv[1] + "/node_modules/katex");
const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"));
const failures = formulas.flatMap(([place, text, displayMode]) => {
  try { katex.renderToString(text, {displayMode, throwOnError: true, strict: "error"}); return []; }
  catch (error) { return [`${place}: ${error.message}`]; }
});
console.log(JSON.stringify(failures));
"""


class Formula(NamedTuple):
    place: str
    """File and line on which it begins."""
    text: str
    display: bool


def formulas(page: Path) -> list[Formula]:
    """The formulas of a page, outside of code."""
    prose = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), page.read_text())
    matches = list(MATH.finditer(prose))
    rest = MATH.sub("", prose)
    if "$" in rest:
        raise SystemExit(f"{page.name}: expected every $ to have a partner, got {rest[rest.index('$') - 40 :][:80]!r}")
    lines = [prose.count("\n", 0, match.start()) + 1 for match in matches]
    return [
        Formula(f"{page.name}:{line}", match["display"] or match["inline"], bool(match["display"]))
        for line, match in zip(lines, matches, strict=True)
    ]


def fragile(every: list[Formula]) -> list[str]:
    return [
        f"{formula.place}: {formula.text.strip()[:60]!r} contains {remedy}"
        for formula in every
        for pattern, remedy in FRAGILE.items()
        if re.search(pattern, formula.text)
    ]


def misnumbered(every: list[Formula]) -> list[str]:
    """Numbers given twice, and numbers that the code cites and the page does not have."""
    tags = [tag for formula in every for tag in re.findall(r"\\tag\{(.*?)\}", formula.text)]
    repeated = [
        f"\\tag{{{tag}}}: expected once, got {tags.count(tag)} times" for tag in set(tags) if tags.count(tag) > 1
    ]
    known = set(tags) | {tag.rstrip("abcdefghij") for tag in tags}
    missing = [f"{where} cites ({tag}), which docs/MATH.md does not have" for where, tag in cited() if tag not in known]
    return repeated + missing


def cited() -> list[tuple[str, str]]:
    paths = [path for name in READERS for path in (sorted((ROOT / name).rglob("*.[pm][yd]")) or [ROOT / name])]
    return [
        (f"{path.relative_to(ROOT)}:{number}", next(filter(None, match.groups())))
        for path in paths
        if path.suffix in (".py", ".md") and path != MATH_PAGE and path.parent != RECIPES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for match in CITED.finditer(line)
    ]


def unparsed(every: list[Formula], katex: Path) -> list[str]:
    """What KaTeX refuses."""
    command = ["node", "-e", PARSE, str(katex.resolve())]
    run = subprocess.run(command, input=json.dumps(every), capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"expected KaTeX in {katex}: npm install --prefix {katex} katex\n{run.stderr}")
    return json.loads(run.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--katex", type=Path, help="folder in which `npm install katex` was run")
    options = parser.parse_args()
    numbered = formulas(MATH_PAGE)
    every = numbered + formulas(PAPER_PAGE)
    failures = fragile(every) + misnumbered(numbered) + (unparsed(every, options.katex) if options.katex else [])
    checked = "numbers, delimiters, syntax" if options.katex else "numbers and delimiters only; --katex parses formulas"
    print(*failures, f"{len(every)} formulas, {len(failures)} failures (checked: {checked})", sep="\n")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
