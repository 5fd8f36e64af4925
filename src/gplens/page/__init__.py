"""One HTML file with the report of an explanation and, for many models, an interactive what-if, without a server."""

from gplens.page.writing import write

__all__ = ["write"]
