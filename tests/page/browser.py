"""A headless Chromium without network, for the tests that open pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PLACES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
)


def chromium() -> str:
    """The browser of the machine; a skip that says what is missing."""
    found = next(filter(None, map(shutil.which, PLACES)), None)
    if found is None:
        pytest.skip("no Chromium on this machine: the pages are not opened (Debian: apt-get install chromium)")
    return found


@contextmanager
def running() -> Iterator[Any]:
    """A browser."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page with everything that it said and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def check_quiet(self, path: Path) -> None:
        """No message, no error, and no request but that of the file itself."""
        assert self.said == []
        assert {url.partition("#")[0] for url in self.asked} == {path.as_uri()}


@contextmanager
def opened(browser: Any, path: Path, fragment: str = "", **context: Any) -> Iterator[Opened]:
    """A page from disk with the network off."""
    within = browser.new_context(offline=True, **{"viewport": {"width": 1280, "height": 900}, **context})
    page = within.new_page()
    result = Opened(page)
    page.on("console", lambda message: result.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: result.said.append(f"error: {error}"))
    page.on("request", lambda request: result.asked.append(request.url))
    page.goto(f"{path.as_uri()}#{fragment}")
    page.wait_for_selector("html[data-ready]")
    yield result
    within.close()


ANSWERS = """async (fragments) => {
  const answers = [];
  for (const fragment of fragments) {
    const done = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
    location.hash = fragment;
    await done;
    answers.push(document.getElementById("csv").value);
  }
  return answers;
}"""
"""The answers of the what-if as CSV, one for each fragment of the address."""
