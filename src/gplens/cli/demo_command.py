"""`gplens demo`: a model of a year of bike rentals, three hours explained with error bars, and their pictures."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from gplens.cli.console import remark, say
from gplens.cli.interruption import interruptible

FOLDER = Path("gplens-demo")
TYPICAL = 7231, "Wednesday, 2 November 2011, 22:00, a clear autumn evening"
"""The baseline: an hour with about as many bikes as the median hour. Paths of the hour go the shorter way round, from
the evening to the night through midnight. From the late morning they would pass the way to work, whose bikes the hour
would gain on its way to a night without any."""
HOURS = {
    "rush_hour": (6603, "Friday, 7 October 2011, 17:00, the way home on a warm day"),
    "rainy_morning": (1885, "Thursday, 24 March 2011, 8:00, the way to work in the rain"),
    "winter_night": (28, "Sunday, 2 January 2011, 4:00"),
}
"""Contrasting hours, by the names of their pictures."""
COLUMNS = ("month", "hour", "working_day", "weather", "temperature", "humidity", "wind_speed")
POINTS = 200
"""Inducing points. The fit has a fixed number of steps and no budget of seconds: the same model on a busy machine."""
SHOWN = 80
"""The hours of the pictures of many hours, and of the page."""


def add(app: typer.Typer) -> None:
    """Add `gplens demo` to the application."""
    app.command("demo")(interruptible(demo, left="its folder has what was finished"))


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for all that is written.")] = FOLDER,
) -> None:
    """Fit a model to a year of bike rentals, explain three contrasting hours, draw them, and write a page.

    It takes less than a minute. The folder then holds the pictures, a page with sliders, the table as bikes.csv and the
    model, to try the other commands on.
    """
    import pyarrow
    from pyarrow import csv

    from gplens.datasets import bike_sharing

    began, data = perf_counter(), bike_sharing(kaggle=False)
    out.mkdir(parents=True, exist_ok=True)
    table = pyarrow.table({name: data.column(name).numpy() for name in COLUMNS})
    counts = data.y.numpy()
    csv.write_csv(table.append_column("count", pyarrow.array(counts)), out / "bikes.csv")
    remark(
        f"Fitting a Gaussian process for counts to {len(counts):,} hours of bike rentals in Washington, D.C., 2011 ..."
    )
    model = _fitted(table, counts)
    model.save(out / "model")
    pictures = [_explained(model, table, counts, out / f"{name}.png", *hour) for name, hour in HOURS.items()]
    remark(f"Explaining {SHOWN} more hours ...")
    many, rows = _many(model, table)
    pictures += _drawn(many, out)
    page = _page(model, table, counts, many, rows, out / "bikes.html")
    say("Pictures:\n" + "\n".join(f"  {picture}: {shows}" for picture, shows in pictures))
    say(f"\nDone in {perf_counter() - began:.0f} s. The table and the model are there too; go on with:")
    say(f"  gplens plot {out}/model {out}/bikes.csv --row 100 --baseline row:{TYPICAL[0]} --out picture.png")
    say(f"  gplens explain {out}/model {out}/bikes.csv --rows 1000 --out attributions.parquet")
    say(f"  gplens verify {out}/model {out}/bikes.csv")
    say(f"A report with sliders that needs no server, {page.stat().st_size / 1e6:.1f} MB: open {page}")


def _fitted(table: Any, counts: Any) -> Any:
    from gplens.columns import Cyclic
    from gplens.estimators import GPCountRegressor

    cyclic = {"hour": Cyclic(24), "month": Cyclic(12)}
    return GPCountRegressor(columns=cyclic, inducing_points=POINTS, random_state=0).fit(table, counts)


def _explained(model: Any, table: Any, counts: Any, picture: Path, row: int, hour: str) -> tuple[Path, str]:
    """Print the explanation of one hour, and draw it."""
    from gplens import Samples
    from gplens.plots import waterfall

    explanation = model.explain(
        table.slice(row, 1), baseline=table.slice(TYPICAL[0], 1), uncertainty=Samples(1000, seed=0), support=True
    )
    say(f"\n{hour}: {counts[row]:.0f} bikes were rented. The baseline is {TYPICAL[1]}.")
    say(str(explanation))
    _write(waterfall(explanation, unit="bikes per hour"), picture)
    return picture, f"{hour}, with 90 % intervals"


def _many(model: Any, table: Any) -> tuple[Any, list[int]]:
    """Hours of the whole year with error bars, and their numbers."""
    from gplens import Diagonal

    rows = list(range(0, table.num_rows, table.num_rows // SHOWN))[:SHOWN]
    typical = table.slice(TYPICAL[0], 1)
    return model.explain(table.take(rows), baseline=typical, uncertainty=Diagonal(), support=True), rows


def _drawn(many: Any, out: Path) -> list[tuple[Path, str]]:
    """Draw many hours at once."""
    from gplens.plots import beeswarm, scatter

    every, hour = out / "many_hours.png", out / "hour_of_day.png"
    _write(beeswarm(many, unit="bikes per hour"), every)
    _write(scatter(many, "hour", colour_by="working_day", unit="bikes per hour"), hour)
    return [
        (every, f"attributions of {SHOWN} hours"),
        (hour, "what the hour of the day does, on working days and others"),
    ]


def _page(model: Any, table: Any, counts: Any, many: Any, rows: list[int], path: Path) -> Path:
    """The page of the same hours, with the model for its sliders."""
    from gplens.page import write

    return write(
        many,
        path,
        model=model,
        data=table,
        targets=counts[rows],
        title="Bikes in Washington, D.C., hour by hour",
        positions=rows,
        total=table.num_rows,
    )


def _write(axes: Any, picture: Path) -> None:
    from gplens.plots.canvas import root_figure

    root_figure(axes).savefig(picture, dpi=130)
