"""The parts of attributions that come through the mean and through the variance of the latent functions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float, Int
from torch import Tensor

from gplens.explanation.selection import sum_groups


@final
@dataclass(frozen=True, eq=False)
class Channels(Mapping[str, Tensor]):
    """IG_k = d_k int psi_m d_k m dt + d_k int psi_v d_k v dt  (11.1), as a mapping from names to tensors.

    Each tensor has the shape of the explanation's `values`; up to rounding, the tensors add up to `values`.
    """

    names: tuple[str, ...]
    values_by_name: Float[Tensor, "channels b *c d"]

    def __getitem__(self, name: str) -> Float[Tensor, "b *c d"]:
        if name not in self.names:
            raise KeyError(f"expected a channel of {list(self.names)}, got {name!r}.")
        return self.values_by_name[self.names.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Channels({', '.join(self.names)}; {tuple(self.values_by_name.shape[1:])} each)"

    @property
    def nonzero(self) -> tuple[str, ...]:
        """The names of the channels that have an attribution other than zero."""
        return tuple(name for name, values in self.items() if bool(values.any()))

    def squeezed(self) -> "Channels":
        """Without the axis of a single output."""
        return replace(self, values_by_name=self.values_by_name[:, :, 0])

    def rows(self, rows: Int[Tensor, " r"]) -> "Channels":
        """The channels of some of the inputs."""
        return replace(self, values_by_name=self.values_by_name[:, rows])

    def group(self, columns: Mapping[str, list[int]]) -> "Channels":
        """The channels of groups of features, added up."""
        return replace(self, values_by_name=sum_groups(self.values_by_name, columns))

    def contrast(self, i: int, j: int) -> "Channels":
        """The channels of output i minus those of output j."""
        return replace(self, values_by_name=self.values_by_name[:, :, i] - self.values_by_name[:, :, j])
