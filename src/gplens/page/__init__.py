"""One HTML file with the report of an explanation and, for many models, a live what-if; without any server."""

from gplens.page.writing import write

__all__ = ["write"]
