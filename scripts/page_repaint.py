"""How long a drag takes to repaint a what-if of 500 support points and ten columns, measured in the page itself.

    python scripts/page_repaint.py

A slider is moved 100 times in a headless Chromium. The page measures from the movement to the moment after the next
frame was drawn. Prints the median and the 90th percentile for a Gaussian, a Poisson and a three-class model, and the
processor time of the page's own thread for a movement, which a busy machine does not change as much.
"""

import shutil
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import torch
from playwright.sync_api import sync_playwright

import gplens
from gplens import kernels, links
from gplens.page import write
from gplens.processes.stack import Stack

N, D = 500, 10
DRAG = """async () => {
  const slider = document.querySelector("#column-0"), low = Number(slider.min), high = Number(slider.max);
  performance.clearMeasures();
  for (let i = 0; i < 100; i++) {
    slider.value = String(low + ((high - low) * (i + 0.5)) / 100);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    while (performance.getEntriesByName("repaint").length <= i) await new Promise((done) => setTimeout(done, 1));
  }
  return performance.getEntriesByName("repaint").map((entry) => entry.duration);
}"""


def posterior(seed: int) -> gplens.Posterior:
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(N, D, generator=g, dtype=torch.float64)
    y = torch.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * torch.randn(N, generator=g, dtype=torch.float64)
    return gplens.Posterior.exact(kernels.RBF(torch.full((D,), 3.0, dtype=torch.float64)), X, y, noise=0.1)


def thread_time(clock: Any) -> float:
    """Seconds that the page's thread has computed."""
    metrics = clock.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def main() -> None:
    models: dict[str, tuple[Any, Any]] = {
        "Gaussian": (posterior(0), links.Identity()),
        "Poisson": (posterior(0), links.Exp()),
        "three classes": (Stack(tuple(posterior(i) for i in range(3))), links.Softmax()),
    }
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        options = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium, args=options)
        for name, (model, link) in models.items():
            X = torch.randn(20, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
            e = gplens.explain(model, X, baseline=0.0, likelihood=link, tolerance=1e-4)
            path = write(e, Path(folder) / "page.html", model=model, likelihood=link)
            page = browser.new_context(offline=True).new_page()
            page.goto(f"{path.as_uri()}#tab=whatif")
            page.wait_for_selector(".slices svg")
            page.wait_for_timeout(1000)
            clock = page.context.new_cdp_session(page)
            clock.send("Performance.enable", {"timeDomain": "threadTicks"})
            before = thread_time(clock)
            times = sorted(page.evaluate(DRAG))
            own = 10 * (thread_time(clock) - before)  # seconds of 100 movements, as milliseconds of one
            size = path.stat().st_size / 1e6
            print(
                f"{name}: median {median(times):.0f} ms, 90 % below {times[89]:.0f} ms, processor {own:.0f} ms; "
                f"file of {size:.1f} MB"
            )
        browser.close()


if __name__ == "__main__":
    main()
