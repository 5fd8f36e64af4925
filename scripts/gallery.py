"""Every plot of gplens.plots, for real models: bikes, wine, digits, MNIST and a model of BoTorch.

    python scripts/gallery.py FOLDER [bikes wine digits mnist botorch wide]

writes a PNG for each plot. MNIST is read from the folder that GPLENS_DATA names, and left out if it is not there.
`python scripts/gallery.py --docs` writes the pictures of docs/PLOTS.md into docs/gallery.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

import gplens
from gplens import plots
from gplens.baselines import Mean, Sample, Zeros
from gplens.datasets import bike_sharing, digits, mnist
from gplens.estimators import GPClassifier, GPCountRegressor, Training
from gplens.targets import EpistemicVariance

DOCS = Path(__file__).parents[1] / "docs" / "gallery"
IN_DOCS = (
    *(f"bikes_{name}" for name in ("waterfall", "beeswarm", "scatter", "path", "ablation", "uncertainty")),
    *("wine_bar", "digits_image", "digits_image_faded"),
)
"""The pictures of docs/PLOTS.md."""
HOUR, QUIET = 6603, 1
"""Friday, 7 October 2011, 17:00; and the baseline, 1 January, 1:00."""
Pictures = Iterator[tuple[str, Axes]]


def bikes() -> Pictures:
    """Counts: one output, intervals from draws."""
    data = bike_sharing(kaggle=False)
    kept = [i for i, name in enumerate(data.feature_names) if name not in ("day_of_year", "holiday")]
    X, names = data.X[:, kept], [data.feature_names[i] for i in kept]
    import pandas

    frame = pandas.DataFrame(X.numpy(), columns=names)
    model = GPCountRegressor(inducing_points=100, random_state=0, progress=False).fit(frame, data.y.numpy())
    baseline, one = X[QUIET], frame.iloc[[HOUR]]
    e = model.explain(one, baseline=baseline, uncertainty=gplens.Samples(2000, seed=0))
    yield "waterfall", plots.waterfall(e, unit="bikes per hour")
    yield "bar_one", plots.bar(e, unit="bikes per hour")
    yield "path", plots.path(e, model, unit="bikes per hour")
    rows = np.random.default_rng(0).choice(len(X), 150, replace=False)
    many = model.explain(frame.iloc[rows], baseline=baseline, uncertainty=gplens.Full())
    yield "beeswarm", plots.beeswarm(many, unit="bikes per hour")
    yield "bar", plots.bar(many, unit="bikes per hour")
    yield "scatter", plots.scatter(many, "hour", colour_by="working_day", unit="bikes per hour")
    yield "scatter_temperature", plots.scatter(many, "temperature", colour_by="month", unit="bikes per hour")
    yield "ablation", plots.ablation(many, model, unit="bikes per hour")
    average = model.explain(one, baseline=Sample(frame.iloc[rows[:40]]))
    yield "waterfall_background", plots.waterfall(average, unit="bikes per hour")
    yield "ablation_background", plots.ablation(average, model, unit="bikes per hour")
    unsure = model.explain(one, baseline=baseline, target=EpistemicVariance())
    yield "uncertainty", plots.uncertainty(unsure, unit="of the logarithm of the rate")


def wine() -> Pictures:
    """Three classes, and a contrast of two."""
    from sklearn.datasets import load_wine

    bunch: Any = load_wine(as_frame=True)
    X, y = bunch.data, np.array(["Barolo", "Grignolino", "Barbera"])[bunch.target]
    model = GPClassifier(inducing_points=60, random_state=0, progress=False).fit(X, y)
    some = X.iloc[::4]
    e = model.explain(some, baseline=Mean(X), uncertainty=gplens.Samples(300, seed=0))
    yield "bar", plots.bar(e)
    yield "waterfall", plots.waterfall(e, row=3)
    yield "beeswarm", plots.beeswarm(e, output="Barolo")
    contrast = e.contrast("Barolo", "Grignolino")
    yield "contrast", plots.waterfall(contrast, row=3)
    yield "contrast_path", plots.path(contrast, model, row=3, contrast=("Barolo", "Grignolino"))
    yield "path", plots.path(e, model, row=3)
    yield "scatter", plots.scatter(e, "proline", colour_by="alcohol", output="Barolo")
    yield "ablation", plots.ablation(e, model, output="Barolo")
    unsure = model.explain(some[:4], baseline=Mean(X), target=EpistemicVariance())
    yield "uncertainty", plots.uncertainty(unsure, row=3)


def _of_images(inducing_points: int, steps: int) -> GPClassifier:
    options: dict[str, Any] = {"ard": False, "scaling": "table", "random_state": 0, "progress": False}
    return GPClassifier("rbf", inducing_points=inducing_points, training=Training(steps=steps), **options)


def _many_images(model: GPClassifier, X: torch.Tensor, names: Any, label: str, pixel: str) -> Pictures:
    """The plots of many inputs, of one class; and what makes the model unsure of the first image."""
    options: dict[str, Any] = {"baseline": Zeros(), "outputs": [label], "feature_names": names}
    many = gplens.explain(model, X, uncertainty=gplens.Diagonal(), **options)
    yield "bar", plots.bar(many)
    yield "beeswarm", plots.beeswarm(many)
    yield "scatter", plots.scatter(many, pixel)
    yield "uncertainty", plots.uncertainty(gplens.explain(model, X[:1], target=EpistemicVariance(), **options))


def digits_of_sklearn() -> Pictures:
    """Images of 8 x 8 pixels."""
    data = digits()
    model = _of_images(100, 100).fit(data.X.numpy(), data.y.numpy().astype(int))
    e = gplens.explain(
        model, data.X[1700:1701], baseline=Zeros(), uncertainty=gplens.Diagonal(), feature_names=data.feature_names
    )
    yield "image", plots.image(e)
    yield "image_faded", e.plot()
    yield "waterfall", plots.waterfall(e)
    yield "ablation", plots.ablation(e, model, row=0)
    yield "path", plots.path(e, model)
    images = data.X[data.y == int(data.y[1700])][:20]
    label = f"class {int(data.y[1700])}"
    yield from _many_images(model, images, data.feature_names, label, "pixel_3_2")


def mnist_images() -> Pictures:
    """Images of 28 x 28 pixels."""
    data = mnist()
    X, y = data.train.X[:3000].double(), data.train.y[:3000]
    model = _of_images(150, 60).fit(X.numpy(), y.numpy().astype(int))
    x = data.test.X[:1].double()
    label = f"class {int(data.test.y[0])}"
    e = gplens.explain(
        model,
        x,
        baseline=Zeros(),
        outputs=[label],
        uncertainty=gplens.Diagonal(),
        feature_names=data.test.feature_names,
    )
    yield "image", plots.image(e)
    yield "image_faded", plots.image(e, fade=True)
    yield "ablation", plots.ablation(e, model)
    yield "path", plots.path(e, model)
    yield "waterfall", plots.waterfall(e)
    images = data.test.X[data.test.y == data.test.y[0]][:8].double()
    yield from _many_images(model, images, data.test.feature_names, label, data.test.feature_names[267])


def botorch_model() -> Pictures:
    """A Gaussian process of BoTorch in six dimensions, whose attributions are exactly Gaussian."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.test_functions import Hartmann
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X = torch.rand(60, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = Hartmann(negate=True)(X)[:, None]
    model = SingleTaskGP(X, y, input_transform=Normalize(6), outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    best, names = X[int(y.argmax())], [f"ingredient {letter}" for letter in "ABCDEF"]
    e = gplens.explain(model, best[None], baseline=Mean(X), uncertainty=gplens.Full(), feature_names=names)
    yield "waterfall", plots.waterfall(e)
    yield "path", plots.path(e, model)
    many = gplens.explain(model, X, baseline=Mean(X), uncertainty=gplens.Full(), feature_names=names)
    yield "beeswarm", many.plot()
    yield "bar", plots.bar(many)
    yield "scatter", plots.scatter(many, names[5], colour_by=names[1])
    yield "ablation", plots.ablation(many, model)
    unsure = gplens.explain(model, 2 * best[None], baseline=Mean(X), target=EpistemicVariance(), feature_names=names)
    yield "uncertainty", plots.uncertainty(unsure)


def wide_table() -> Pictures:
    """Three hundred features, some with long names, one that is constant, some that tie."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(80, 300, generator=generator, dtype=torch.float64)
    X[:, 0] = 1.0
    weights = torch.linspace(1, 0, 300, dtype=torch.float64) ** 8
    y = torch.sin(X @ weights) + 0.1 * torch.randn(80, generator=generator, dtype=torch.float64)
    lengthscale = 3 / (weights + 0.02)
    posterior = gplens.Posterior.exact(gplens.kernels.RBF(lengthscale), X, y, noise=0.01)
    names = [f"expression of the gene with the number {i:,} in cells of type {'ABC'[i % 3]}" for i in range(300)]
    options = {"likelihood": gplens.links.Identity(), "feature_names": names}
    e = gplens.explain(posterior, X[:40], baseline=Mean(X), uncertainty=gplens.Full(), **options)
    yield "waterfall", plots.waterfall(e)
    yield "bar", plots.bar(e)
    yield "beeswarm", plots.beeswarm(e)
    yield (
        "waterfall_diagonal",
        plots.waterfall(gplens.explain(posterior, X[:1], baseline=Mean(X), uncertainty=gplens.Diagonal(), **options)),
    )


PARTS: dict[str, Callable[[], Pictures]] = {
    "bikes": bikes,
    "wine": wine,
    "digits": digits_of_sklearn,
    "mnist": mnist_images,
    "botorch": botorch_model,
    "wide": wide_table,
}


def main() -> None:
    given = sys.argv[1:] or ["gallery"]
    docs = given == ["--docs"]
    folder = DOCS if docs else Path(given[0])
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("bikes", "wine", "digits") if docs else given[1:] or PARTS:
        try:
            for name, axes in PARTS[part]():
                if not docs or f"{part}_{name}" in IN_DOCS:
                    plots.canvas.root_figure(axes).savefig(folder / f"{part}_{name}.png", dpi=80 if docs else 110)
        except FileNotFoundError as cause:
            print(f"{part} is left out: {cause}", file=sys.stderr)


if __name__ == "__main__":
    main()
