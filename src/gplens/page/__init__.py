"""One HTML file with the report of an explanation and, for many models, a live what-if. It needs no server, no network."""

from gplens.page.writing import write

__all__ = ["write"]
