"""The arms that an analysis explains, and their baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import pandas
from ax.core.experiment import Experiment

from gplens.baselines import Baseline, Sample


@final
@dataclass(frozen=True, eq=False)
class Arms:
    """Parameterizations by the names of their arms."""

    explained: dict[str, dict[str, Any]]
    observed: dict[str, dict[str, Any]]

    @staticmethod
    def of(experiment: Experiment, names: Sequence[str] | None) -> "Arms":
        """The arms with these names. If None, the arms without data, or those of the latest trial if all have data.

        Raises:
            ValueError: the experiment has no arm of such a name.
        """
        every = {name: dict(arm.parameters) for name, arm in experiment.arms_by_name.items()}
        measured = set(experiment.lookup_data().df["arm_name"])
        observed = {name: arm for name, arm in every.items() if name in measured}
        if names is None:
            waiting = [name for name in every if name not in measured]
            latest = [arm.name for arm in experiment.trials[max(experiment.trials)].arms]
            names = waiting or latest
        unknown = [name for name in names if name not in every]
        if unknown:
            raise ValueError(f"expected arm names of the experiment, {sorted(every)}, got {unknown}.")
        return Arms({name: every[name] for name in names}, observed)

    def frame(self) -> pandas.DataFrame:
        """The arms to explain, one in each row."""
        return pandas.DataFrame(list(self.explained.values()), index=list(self.explained))

    def observed_frame(self) -> pandas.DataFrame:
        """The arms with data, one in each row."""
        return pandas.DataFrame(list(self.observed.values()), index=list(self.observed))

    def baseline(self, given: str | Mapping[str, Any] | Baseline | None) -> tuple[Any, str]:
        """A baseline for gplens.explain, and its name; the average over all arms with data if None is given."""
        if given is None:
            return Sample(self.observed_frame()), f"the average over the {len(self.observed)} arms with data"
        if isinstance(given, str):
            arms = {**self.observed, **self.explained}
            if given not in arms:
                raise ValueError(f"expected the name of an arm with data, one of {sorted(arms)}, got {given!r}.")
            return arms[given], f"arm {given}"
        if isinstance(given, Baseline):
            return given, repr(given)
        return dict(given), "the given parameters"
