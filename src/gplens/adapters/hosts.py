"""The host libraries whose models gplens reads: the modules that read them, and their versions."""

import re
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple, final


class Library(NamedTuple):
    """A library, and the range of its versions whose private attributes the adapter knows."""

    adapter: str
    """The module that registers readers of its models; imported when one of its objects is given."""
    package: str
    """The name of the package for pip."""
    low: tuple[int, ...] = (0,)
    high: tuple[int, ...] = (10**9,)
    """The lowest tested version and the first untested one, as in pyproject.toml."""

    @property
    def requirement(self) -> str:
        """The requirement, as pip takes it."""
        low, high = (".".join(map(str, bound)) for bound in (self.low, self.high))
        return f"{self.package}>={low},<{high}"

    def explained(self, cause: Exception) -> Exception:
        """The error for a missing name; if the installed version was never tested, it says which version to install."""
        try:
            installed = version(self.package)
        except PackageNotFoundError:  # a library that was not installed by pip
            return cause
        release = re.split(r"[^\d.]", installed)[0].strip(".").split(".")
        if self.low <= tuple(map(int, release)) < self.high:
            return cause
        return ImportError(
            f"expected {self.requirement}, got {self.package} {installed}, where something that gplens reads is "
            f'missing ({cause}); pip install "{self.requirement}".'
        )


@final
class Extra:
    """`with Extra("captum", "gplens.captum"):` names the extra to install in the error for a missing package."""

    def __init__(self, name: str, purpose: str) -> None:
        self.name, self.purpose = name, purpose

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, cause: BaseException | None, trace: object) -> None:
        if isinstance(cause, ModuleNotFoundError) and not (cause.name or "").startswith("gplens"):
            raise ImportError(
                f"expected {cause.name} to be installed for {self.purpose}, got no such module. Install gplens with "
                f"the extra [{self.name}]: in a clone, pip install '.[{self.name}]'."
            ) from cause


HOSTS = {
    "gplens": Library("gplens.adapters.native", "gplens"),
    "gpytorch": Library("gplens.adapters.gpytorch", "gpytorch", (1, 15, 1), (1, 16)),
    "sklearn": Library("gplens.adapters.sklearn", "scikit-learn", (1, 8), (1, 10)),
    "botorch": Library("gplens.adapters.botorch", "botorch", (0, 17), (0, 19)),
}
"""Hosts by the name of the top-level Python package. A new host is one line here."""
LIBRARIES = ", ".join(host.package for root, host in HOSTS.items() if root != "gplens")
