"""The page of an experiment with images: a section for each model."""

from collections.abc import Mapping

import pandas

from gplens.experiments.image_models import FILES
from gplens.experiments.report import markdown
from gplens.experiments.study import Size


def page(
    title: str,
    accuracy: Mapping[str, float],
    images: pandas.DataFrame,
    scores: pandas.DataFrame,
    names: list[str],
    size: Size,
) -> str:
    """The page in Markdown, without its last line."""
    parts = [HEAD.format(title=title, orders=size.orders, steps=size.steps)]
    for model, reached in accuracy.items():
        of_model = images.query("model == @model")
        parts.append(
            MODEL.format(
                model=model[0].upper() + model[1:],
                accuracy=reached,
                miss=of_model["miss"].abs().max(),
                file=FILES[model],
                images=_images(of_model, names),
                count=size.scored,
                orders=size.scored_orders,
                scores=_scores(scores.query("model == @model")),
            )
        )
    return "\n".join([*parts, TAIL])


def _images(images: pandas.DataFrame, names: list[str]) -> str:
    header = ["image", "class", "probability", "black image", "sum", "end of curve - sum"]
    header += ["pixels", "positive", "certain at 90 %", "nodes"]
    lines = [
        [
            image["row"],
            names[image["label"]],
            f"{image['probability']:.4f}",
            f"{image['baseline']:.4f}",
            f"{image['sum']:+.4f}",
            f"{image['miss']:+.0e}",
            *(image[name] for name in ("pixels", "positive", "certain", "nodes")),
        ]
        for image in images.to_dict("records")
    ]
    return markdown(header, lines)


def _scores(scores: pandas.DataFrame) -> str:
    columns = ["area", "above", "deletion", "insertion", "gap", "seconds"]
    by = scores.groupby("method", sort=False)[columns].agg(["mean", "sem"])
    lines = [
        [
            method,
            *(f"{row[name, 'mean']:.4f} ± {row[name, 'sem']:.4f}" for name in ("area", "deletion", "insertion")),
            f"{row['above', 'mean']:.1%}",
            f"{row['gap', 'mean']:.1e}",
            f"{1e3 * row['seconds', 'mean']:.0f} ms",
        ]
        for method, row in by.iterrows()
    ]
    header = ["method", "area over random", "deletion", "insertion", "above random to the sign change"]
    return markdown([*header, "completeness gap", "time"], lines)


HEAD = """# {title}: heat maps and ablation

Attributions of the expected probability of the true class, relative to the black image; the first test image of each
class. Left: orange raises the probability, blue lowers it. Middle: pixels whose 90 % interval contains zero are grey.
Right: the probability lost as pixels are replaced by black, in the order of their attributions (blue) and on average
over {orders:,} random orders (grey, evaluated at {steps} counts). The dotted line shows where the sign of the
attributions changes, the dashed one their sum. Pixels that are black already are left out of both orders, as in
Appendix E.2.
"""

MODEL = """## {model}: accuracy {accuracy:.2%}

![Heat maps and ablation]({file}.png)

{images}

The curves end on the sum of the attributions to {miss:.0e}.

Over the first {count} test images, {orders} random orders each, mean ± standard error:

{scores}
"""

TAIL = """Area: between the two curves, over the fraction of pixels replaced. Deletion (lower is better) and insertion
(higher is better): area under the probability as pixels go, or come back, the most important first. Gradient x input
and Captum (its default of 50 steps, GPyTorch's autograd, softmax averaged over 256 draws) explain the same models. All
numbers are in images.csv, pixels.csv, curves.csv and scores.csv."""
