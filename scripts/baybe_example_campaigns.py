"""The campaigns that BayBE's example scripts make, which scripts/baybe_examples.py explains."""

import contextlib
import io
import runpy
from pathlib import Path
from typing import Any

from baybe import Campaign
from matplotlib import pyplot


def campaigns_of(example: Path) -> list[Campaign]:
    """Measured campaigns of an example, or all if none is measured; the last of those that are alike."""
    made: list[Campaign] = []
    found: dict[int, Campaign] = {}
    make, add = Campaign.__init__, Campaign.add_measurements

    def remember_made(campaign: Campaign, *arguments: Any, **options: Any) -> None:
        make(campaign, *arguments, **options)
        made.append(campaign)

    def remember_measured(campaign: Campaign, *arguments: Any, **options: Any) -> None:
        add(campaign, *arguments, **options)
        found[id(campaign)] = campaign

    Campaign.__init__, Campaign.add_measurements = remember_made, remember_measured  # pyright: ignore
    try:
        silence = io.StringIO()
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
            runpy.run_path(str(example), run_name="__main__")
    finally:
        Campaign.__init__, Campaign.add_measurements = make, add
        pyplot.close("all")
    return list({setting(campaign): campaign for campaign in list(found.values()) or made}.values())


def setting(campaign: Campaign) -> tuple[str, ...]:
    """What tells campaigns apart: columns of the model, objective and recommender, but no measurements."""
    recommender: Any = campaign.recommender
    inner = getattr(recommender, "recommender", recommender)  # of two phases, the second
    kinds = [type(part).__name__ for part in (recommender, inner, getattr(inner, "_surrogate_model", None))]
    return ",".join(campaign.searchspace.comp_rep_columns), str(campaign.objective), *kinds
