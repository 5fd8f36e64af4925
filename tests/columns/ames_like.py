"""A table like that of the houses of Ames: 80 columns of numbers, texts, codes, dates and flags, many missing."""

import numpy as np
import pandas

PLACES = ["OldTown", "NAmes", "CollgCr", "Edwards", "Somerst", "Gilbert", "Sawyer", "Mitchel", "BrkSide", "Timber"]
QUALITY = ["Ex", "Gd", "TA", "Fa", "Po"]


def ames_like(rows: int, seed: int = 0) -> pandas.DataFrame:
    """The columns, and the price of each house as the last one."""
    r = np.random.default_rng(seed)
    columns: dict[str, object] = {"neighbourhood": r.choice(PLACES, rows)}
    columns["lot_area"] = np.exp(r.normal(9, 0.5, rows)).round()
    columns["living_area"] = np.exp(r.normal(7.2, 0.35, rows)).round()
    columns["quality"] = r.integers(1, 11, rows)
    columns["year_built"] = r.integers(1880, 2010, rows)
    columns["sold"] = pandas.Timestamp("2006-01-01") + pandas.to_timedelta(r.integers(0, 1600, rows), unit="D")
    columns["month"] = pandas.DatetimeIndex(columns["sold"]).month
    columns["central_air"] = r.random(rows) > 0.1
    columns["street"] = "Pave"
    for i in range(34):
        numbers = r.normal(size=rows) * 10 ** r.integers(0, 4)
        columns[f"size_{i}"] = np.where(r.random(rows) < 0.15, np.nan, numbers) if i % 4 == 0 else numbers.round(2)
    for i in range(34):
        codes = np.array([*QUALITY, None] if i % 3 == 0 else QUALITY[: 2 + i % 4], dtype=object)
        columns[f"condition_{i}"] = r.choice(codes, rows)
    columns["style"], columns["zone"] = r.choice(["1Story", "2Story"], rows), r.choice(["RL", "RM", "FV"], rows)
    columns["alley"] = np.where(r.random(rows) < 0.9, None, "Grvl")
    frame = pandas.DataFrame(columns)
    place = pandas.Series(range(len(PLACES)), index=PLACES)[frame["neighbourhood"]].to_numpy() / len(PLACES)
    price = 0.6 * np.log(frame["living_area"]) + 0.08 * frame["quality"] + 0.2 * place + 0.002 * frame["year_built"]
    price += 0.1 * frame["central_air"] + 0.05 * (frame["condition_0"] == "Ex") + r.normal(0, 0.05, rows)
    return frame.assign(price=np.exp(price + 3).round())
