"""The result of a verification: checks that passed, failed, or could not be made, with their numbers."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Check:
    """One property of the attributions.

    Example:
        >>> link = gplens.links.Identity()
        >>> checks = gplens.verify(gp, X[1:], baseline=0.0, likelihood=link, rows=1, draws=500).checks
        >>> all(check.passed is not False for check in checks)
        True
    """

    name: str
    """One word or two, such as "completeness"."""
    meaning: str
    """A sentence on what was compared."""
    value: float | None
    """The largest difference; None if the check could not be made."""
    limit: float | None
    """The largest difference that passes."""
    reason: str = ""
    """Why the check could not be made."""

    @property
    def passed(self) -> bool | None:
        """Whether the check passed; None if it could not be made."""
        return None if self.value is None or self.limit is None else bool(self.value <= self.limit)  # NaN fails

    @property
    def verdict(self) -> str:
        """pass, FAIL, or "not made"."""
        return {True: "pass", False: "FAIL", None: "not made"}[self.passed]

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """Name, verdict, difference, limit, and what was compared or why it was not."""
        if self.value is None:
            return self.name, self.verdict, "", "", self.reason
        return self.name, self.verdict, f"{self.value:.1e}", f"{self.limit:.1e}", self.meaning


@final
@dataclass(frozen=True)
class Verification:
    """The checks of a model. Printed as a table; true if none failed and at least one was made.

    Example:
        >>> verification = gplens.verify(gp, X[1:], baseline=0.0, likelihood=gplens.links.Identity(), rows=1, draws=500)
        >>> bool(verification)
        True
    """

    model: str
    paths: int
    """The number of inputs, each with a baseline, on which the model was checked."""
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed, and at least one was made."""
        verdicts = [check.passed for check in self.checks]
        return False not in verdicts and True in verdicts

    def __bool__(self) -> bool:
        return self.passed

    @property
    def title(self) -> str:
        """One line: what was checked, and the result."""
        made = [check for check in self.checks if check.passed is not None]
        failed = [check.name for check in made if not check.passed]
        result = (
            f"{', '.join(failed)} failed" if failed else f"{len(made)} of {len(self.checks)} checks made, all passed"
        )
        return f"{self.model} on {self.paths} paths: {result if made else 'no check could be made'}"

    def __str__(self) -> str:
        header = ("check", "result", "difference", "limit", "what was compared")
        rows = [header, *(check.row for check in self.checks)]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, (*widths, 0), strict=True)) for row in rows]
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in lines)])

    __repr__ = __str__
