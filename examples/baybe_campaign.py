"""Why does BayBE suggest this experiment? From a campaign with a solvent and its descriptors to two waterfalls."""

import warnings

import numpy as np
import pandas as pd
from baybe import Campaign
from baybe.parameters import CategoricalParameter, CustomDiscreteParameter, NumericalDiscreteParameter
from baybe.recommenders import BotorchRecommender
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget

from gplens import plots
from gplens.baybe import Insight
from gplens.plots.canvas import root_figure

SOLVENTS = pd.DataFrame(
    {"logP": [-1.4, -0.3, 2.7, -0.2], "dipole": [1.85, 1.69, 0.36, 2.88]},
    index=["water", "ethanol", "toluene", "acetone"],
)


def yield_of(experiments: pd.DataFrame) -> pd.Series:
    """The laboratory: an optimum in temperature, that depends on the solvent, and a better catalyst."""
    best = 75 + 6 * experiments.solvent.map(SOLVENTS.dipole)
    return 90 - 0.03 * (experiments.temperature - best) ** 2 - 8.0 * (experiments.catalyst == "Ni")


def main() -> None:
    space = SearchSpace.from_product(
        [
            NumericalDiscreteParameter("temperature", tuple(np.arange(50.0, 121.0, 5.0).tolist())),
            CategoricalParameter(name="catalyst", values=("Pd", "Ni")),
            CustomDiscreteParameter("solvent", SOLVENTS),
        ]
    )
    campaign = Campaign(space, NumericalTarget("yield").to_objective(), recommender=BotorchRecommender())
    first = space.discrete.exp_rep.sample(8, random_state=1)
    campaign.add_measurements(first.assign(**{"yield": yield_of(first)}))
    for _ in range(3):
        experiment = campaign.recommend(batch_size=1)
        campaign.add_measurements(experiment.assign(**{"yield": yield_of(experiment)}))

    suggested, insight = campaign.recommend(batch_size=1), Insight.from_campaign(campaign)
    print(insight.explain(suggested)[0])
    why = insight.explain_acquisition(suggested)  # once: each call draws samples of its own
    print(why)
    root_figure(insight.plot("waterfall", suggested, explanation_index=0, show=False)).savefig("suggested_yield.png")
    root_figure(plots.waterfall(why)).savefig("suggested_why.png")
    print("Wrote suggested_yield.png and suggested_why.png")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # BayBE's remarks on few measurements
    main()
