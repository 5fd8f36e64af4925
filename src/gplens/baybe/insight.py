"""The calls of BayBE's SHAPInsight, with exact attributions and their error bars."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import pandas
from baybe import Campaign
from baybe.exceptions import IncompatibilityError, NoMeasurementsError
from baybe.objectives.base import Objective
from baybe.searchspace import SearchSpace
from baybe.surrogates import GaussianProcessSurrogate

from gplens.adapters.reading import read
from gplens.baselines import Sample
from gplens.baybe.objectives import known_objectives
from gplens.baybe.pictures import draw
from gplens.baybe.representations import experimental_tables
from gplens.baybe.surrogates import in_order_of, measured, predicted, processes_of, rows_of, trained_space
from gplens.explain import explain
from gplens.explanation import Explanation
from gplens.interop.agreement import check_prediction
from gplens.interop.design_tables import DesignTables
from gplens.uncertainty import Uncertainty


@final
@dataclass(frozen=True, eq=False)
class Insight:
    """`Insight.from_campaign(campaign).plot("beeswarm")`: which parameters moved the surrogate's predictions, and how.

    Attributions are Integrated Gradients, relative to the average over a background, as those of SHAPInsight are. They
    add up to the difference of `surrogate.posterior(data).mean` from its average over the background.

    Example:
        >>> from gplens.baybe import Insight
        >>> insight = Insight.from_campaign(campaign)
        >>> explanation = insight.explain_target(0, done[:1])
        >>> sorted(explanation.feature_names), bool(explanation.converged.all())
        (['heat', 'solvent'], True)
    """

    surrogates: tuple[GaussianProcessSurrogate, ...]
    """One for each modelled target."""
    background_data: pandas.DataFrame
    """The background, in the explained representation."""
    tables: DesignTables | None
    """From the experimental to the computational representation; None if the computational one is explained."""
    acquisition: Callable[[], Any] | None = None
    """Makes the recommender's acquisition function of BoTorch; None for an insight of a surrogate alone."""
    incumbent: pandas.Series | None = None
    """The best complete measurement, in the explained representation; None if there is none, or several targets."""

    @classmethod
    def from_campaign(cls, campaign: Campaign, *, use_comp_rep: bool = False) -> "Insight":
        """The surrogate of a campaign, relative to its measurements.

        Raises:
            NoMeasurementsError: if there are none.
            IncompatibilityError: from BayBE, if its present recommender has no surrogate.
        """
        if campaign.measurements.empty:
            raise NoMeasurementsError(
                "The campaign does not contain any measurements. Call campaign.add_measurements(data)."
            )
        context = campaign.searchspace, campaign.objective, campaign.measurements
        data, best = measured(*context, use_comp_rep=use_comp_rep)
        insight = cls.from_surrogate(campaign.get_surrogate(), data, use_comp_rep=use_comp_rep)
        acquisition = known_objectives(campaign.get_acquisition_function, campaign.objective)
        return replace(insight, acquisition=acquisition, incumbent=best)

    @classmethod
    def from_recommender(
        cls,
        recommender: Any,
        searchspace: SearchSpace,
        objective: Objective,
        measurements: pandas.DataFrame,
        *,
        use_comp_rep: bool = False,
    ) -> "Insight":
        """The surrogate of a recommender, fitted to measurements, relative to these.

        Raises:
            TypeError: if the recommender has no surrogate.
        """
        if not hasattr(recommender, "get_surrogate"):
            name = type(recommender).__name__
            raise TypeError(f"expected a recommender with a surrogate, got {name}; use a BotorchRecommender.")
        context = searchspace, objective, measurements
        data, best = measured(*context, use_comp_rep=use_comp_rep)
        insight = cls.from_surrogate(recommender.get_surrogate(*context), data, use_comp_rep=use_comp_rep)
        acquisition = known_objectives(lambda: recommender.get_acquisition_function(*context), objective)
        return replace(insight, acquisition=acquisition, incumbent=best)

    @classmethod
    def from_surrogate(cls, surrogate: Any, data: pandas.DataFrame, *, use_comp_rep: bool = False) -> "Insight":
        """A trained surrogate relative to the rows of `data`, which are computational if `use_comp_rep`.

        Raises:
            ModelNotTrainedError: from BayBE, if the surrogate was not fitted.
            IncompatibleSurrogateError: if the surrogate, or a part of it, is not a Gaussian process.
        """
        if data.empty:
            raise ValueError("expected background data with rows, got an empty frame.")
        processes = processes_of(surrogate)
        space = trained_space(processes[0], data)
        return cls(processes, data, None if use_comp_rep else experimental_tables(space))

    def explain(self, data: pandas.DataFrame | None = None, /) -> tuple[Explanation, ...]:
        """The Explanation of each target with error bars; `explanation.to_shap()` is what SHAPInsight returns."""
        return tuple(self.explain_target(k, data) for k in range(len(self.surrogates)))

    def explain_target(
        self,
        target_index: int,
        data: pandas.DataFrame | None = None,
        /,
        *,
        baseline: Any = None,
        uncertainty: Uncertainty | bool | None = True,
        tolerance: float | None = None,
    ) -> Explanation:
        """The Explanation of one target.

        Args:
            target_index: the position of the target.
            data: the experiments to explain, whose columns give the order of the features; the background if None.
            baseline: what gplens.explain takes, such as an experiment as a dictionary; the background if None.
            uncertainty, tolerance: as in gplens.explain.
        """
        surrogate, rows = self.surrogates[target_index], rows_of(data, self.background_data)
        explanation = explain(
            replace(read(surrogate.to_botorch()), encoder=self.tables),
            rows,
            baseline=Sample(self.background_data) if baseline is None else baseline,
            categories=None if self.tables is None else self.tables.categories,
            uncertainty=uncertainty,
            tolerance=tolerance,
        )
        host = predicted(surrogate, rows, use_comp_rep=self.tables is None)
        check_prediction(explanation, host, "surrogate.posterior(data).mean")
        return in_order_of(rows if data is None else data, explanation)

    def explain_acquisition(
        self, candidates: pandas.DataFrame, /, *, baseline: Any = None, tolerance: float | None = None
    ) -> Explanation:
        """The explanation of the acquisition function at candidates, relative to the best measurement.

        `explanation.channels` has the parts that come from a better mean and from a larger variance. The acquisition
        function is a new one, whose samples differ from those of the one that `recommend` optimised. Candidates that
        were recommended together are explained as if each had been recommended alone.

        Args:
            candidates: experiments, such as what `campaign.recommend` returned.
            baseline: what gplens.explain takes, such as an experiment as a dictionary; the best measurement if None.
            tolerance: as in gplens.explain; 1e-4 is enough for a picture, and faster for functions with samples.

        Raises:
            IncompatibilityError: if the insight has no recommender, or the recommender no acquisition function.
        """
        if self.acquisition is None:
            raise IncompatibilityError(
                "expected an insight of a campaign or a recommender, got one of a surrogate, which has no acquisition "
                "function; use Insight.from_campaign or Insight.from_recommender."
            )
        if baseline is None and self.incumbent is None:
            raise ValueError(
                "expected baseline= for several targets, or where no measurement is complete, got None; pass an "
                "experiment."
            )
        explanation = explain(
            replace(read(self.acquisition()), encoder=self.tables),
            rows_of(candidates, self.background_data),
            baseline=self.incumbent if baseline is None else baseline,
            categories=None if self.tables is None else self.tables.categories,
            tolerance=tolerance,
        )
        return in_order_of(candidates, explanation)

    def plot(
        self,
        plot_type: str,
        data: pandas.DataFrame | None = None,
        /,
        *,
        show: bool = True,
        explanation_index: int | None = None,
        target_index: int | None = None,
    ) -> Any:
        """Draw "bar", "beeswarm", or, with error bars, "scatter" or "waterfall"; shap draws "force" and "heatmap".

        Returns matplotlib's axes, an array of them for a scatter plot of several parameters.

        Args:
            plot_type: the kind of plot.
            data: the experiments to explain; the background if None.
            show: whether pyplot shows the picture.
            explanation_index: the row that "waterfall" and "force" draw; with a warning, the first if None.
            target_index: the position of the target, if there are several.
        """
        if target_index is None and len(self.surrogates) > 1:
            raise ValueError(f"expected target_index below {len(self.surrogates)}, one for each target, got None.")
        return draw(
            plot_type,
            lambda rows, bars: self.explain_target(target_index or 0, rows, uncertainty=bars),
            rows_of(data, self.background_data),
            show=show,
            explanation_index=explanation_index,
        )
