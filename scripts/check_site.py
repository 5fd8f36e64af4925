"""Check the built site: links and anchors lead somewhere, nothing is fetched, pictures have texts, and questions find
their page.

    python scripts/check_site.py                      all checks of docs/_build/html
    python scripts/check_site.py --pictures FOLDER    and pictures of five pages, as a phone and as a screen show them

`make docs` runs the first command. The questions are typed into the site's own search, in Chromium, which is left out
with a sentence where Chromium is not installed.
"""

import argparse
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
QUESTIONS = {
    "which parameter drives my surrogate, and am I sure": "howto/which-parameter-drives-my-surrogate",
    "why was this candidate suggested": "howto/why-was-this-candidate-suggested",
    "instead of KernelExplainer": "howto/instead-of-kernelexplainer",
    "instead of lengthscales": "howto/instead-of-lengthscales",
    "why is the model unsure here": "howto/why-is-the-model-unsure-here",
    "which baseline": "howto/which-baseline",
    "counts, classes, softmax": "howto/counts-classes-softmax",
    "images": "howto/images",
    "my model is not in the list": "howto/my-model-is-not-in-the-list",
    "a million rows": "howto/a-million-rows",
    "how do I check that this is right": "howto/check",
    "reading error bars": "howto/reading-error-bars",
    "reading error bars (what they mean, and what they do not)": "howto/reading-error-bars",
}
"""What people type, and the page that answers it."""
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}
DECORATION = ("_thumb.png", "minus.png", "plus.png")
"""Pictures that say no more than the words beside them."""
LOADED_LINKS = {"stylesheet", "preload", "icon", "modulepreload", "prefetch"}
SIZES = {"phone": (390, 844), "screen": (1280, 900)}
PICTURES = {"front": "index.html", "howto": "howto/which-baseline.html", "gallery": "auto_examples/index.html"}
PICTURES |= {"math": "MATH.html", "api": "api/gplens.html"}


class Page(HTMLParser):
    """The identities, links and files of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.files: list[str] = []
        self.silent: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        decoration = given.get("src", "").endswith(DECORATION)
        if tag == "img" and ("alt" not in given or (len(given["alt"]) < 3 and not decoration)):
            self.silent.append(given.get("src", ""))
        loaded = tag != "link" or bool(LOADED_LINKS & set(given.get("rel", "").split()))
        if tag in FETCHED and loaded and given.get(FETCHED[tag]):
            self.files.append(given[FETCHED[tag]])


def failures_of_links(pages: dict[Path, Page]) -> Iterator[str]:
    """Links to files or anchors that do not exist, files that a browser would fetch from elsewhere, silent pictures."""
    for path, page in pages.items():
        name = path.relative_to(SITE)
        yield from (f"{name} has {picture} without a text for those who do not see it" for picture in page.silent)
        for link in {*page.links, *page.files}:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                if link in page.files and address.scheme != "data":
                    yield f"{name} fetches {link}"
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            if not target.is_file():
                yield f"{name} links to {link}, which does not exist"
            elif target in pages and address.fragment and unquote(address.fragment) not in pages[target].ids:
                yield f"{name} links to {link}, which has no such anchor"


def failures_of_styles() -> Iterator[str]:
    """Addresses of other machines in style sheets."""
    for path in SITE.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import )[\"']?(https?://[^\"')]+)", path.read_text(errors="replace")):
            yield f"{path.relative_to(SITE)} fetches {address}"


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not log."""

    def log_message(self, format: str, *args: Any) -> None: ...


@contextmanager
def served() -> Iterator[str]:
    """The site on this machine, while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def failures_in_the_browser(address: str, browser: Any, every_page: list[str]) -> Iterator[str]:
    """Questions that do not find their page among the first three hits; formulas that KaTeX refuses; wide pages."""
    tab = browser.new_page()
    for question, page in QUESTIONS.items():
        tab.goto(f"{address}/search.html?q={quote(question)}")
        tab.wait_for_function("document.querySelectorAll('#search-results li a').length > 0", timeout=20_000)
        tab.wait_for_timeout(500)
        hits = tab.eval_on_selector_all("#search-results ul.search > li > a", "links => links.map(a => a.href)")
        found = [urlsplit(hit).path.strip("/").removesuffix(".html") for hit in hits]
        place = found.index(page) + 1 if page in found else None
        print(f"  {question!r} finds {page}: hit {place} of {len(found)}")
        if place is None or place > 3:
            yield f"{question!r} finds {found[:3]}, not {page}"
    tab.goto(f"{address}/MATH.html")
    tab.wait_for_timeout(500)
    count = tab.eval_on_selector_all(".math", "all => [all.length, all.filter(e => !e.querySelector('.katex')).length]")
    refused = tab.eval_on_selector_all(".katex-error", "all => all.map(e => e.textContent + ' ' + e.title)")
    print(f"  {count[0]} formulas of MATH are set, {count[1]} are not, {len(refused)} are refused")
    yield from (f"KaTeX refuses {formula}" for formula in refused)
    if count[1] or not count[0]:
        yield f"expected all formulas of MATH to be set, got {count[1]} that are not"
    tab.set_viewport_size({"width": 390, "height": 844})
    for path in every_page:
        tab.goto(f"{address}/{path}")
        width = tab.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            yield f"{path} is {width} pixels wide on a phone of 390"
    print(f"  {len(every_page)} pages were opened as a phone shows them")


def take_pictures(address: str, browser: Any, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for (device, (width, height)), scheme in product(SIZES.items(), ("light", "dark")):
        tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        for name, path in PICTURES.items():
            tab.goto(f"{address}/{path}")
            tab.wait_for_timeout(400)
            tab.screenshot(path=folder / f"{name}_{device}_{scheme}.png")
        tab.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of five pages")
    options = parser.parse_args()
    if not (SITE / "index.html").exists():
        raise SystemExit(f"expected the site in {SITE}, got no index.html; run `make docs`.")
    pages = {path.resolve(): Page(path.read_text()) for path in SITE.rglob("*.html") if "_static" not in path.parts}
    failures = [*failures_of_links(pages), *failures_of_styles()]
    links = sum(len(page.links) for page in pages.values())
    print(f"{len(pages)} pages, {links} links, {len(failures)} of them lead nowhere or elsewhere")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("Chromium is not installed: the search and the formulas were not tried.")
    else:
        from playwright.sync_api import sync_playwright

        with served() as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium)
            failures += failures_in_the_browser(address, browser, [str(page.relative_to(SITE)) for page in pages])
            if options.pictures:
                take_pictures(address, browser, options.pictures)
            browser.close()
    print(*failures, f"{len(failures)} failures", sep="\n")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
