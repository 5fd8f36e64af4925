"""
A page for those who do not run Python
======================================

One HTML file with a report and sliders, which opens anywhere.

``model.page(frame, path)`` writes it. The picture is the page as Chromium shows it; where Chromium is not
installed, it is a waterfall of the same explanation.
"""

import shutil
import tempfile
from pathlib import Path

import matplotlib.image
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

import gplens
from gplens.estimators import GPRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "bmi", "bp", "s5"]]
model = GPRegressor(random_state=0, progress=False).fit(X[:120], y[:120])
path = Path(tempfile.mkdtemp()) / "diabetes.html"
model.page(X[120:150], path)
print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, one file")

# %%
# Sliders change the patient, and bars and error bars follow.

chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if chromium is None:
    print("Chromium is not installed: this is a waterfall.")
    figure = gplens.plots.waterfall(model.explain(X[120:121], uncertainty=True)).figure
else:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1000, "height": 800})
        tab.goto(path.as_uri())
        tab.wait_for_timeout(1500)
        tab.screenshot(path=path.with_suffix(".png"))
        browser.close()
    figure = Figure(figsize=(10, 8))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(matplotlib.image.imread(path.with_suffix(".png")))
    axes.axis("off")
    del axes
