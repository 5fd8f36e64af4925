"""Kinds of columns: what an estimator makes of each column of a table, set by `columns={"hour": Cyclic(24)}`."""

from gplens.columns.calendar import DateTime
from gplens.columns.category import Category, Drop
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.cyclic import Cyclic, Time
from gplens.columns.kind import Kind
from gplens.columns.number import Boolean, Log, Number

__all__ = ["Boolean", "Category", "ColumnPlan", "Cyclic", "DateTime", "Drop", "Kind", "Log", "Number", "Time"]
