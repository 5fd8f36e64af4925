"""The order of the gallery: what most people look for first; scripts that are not listed follow by name."""

from pathlib import Path

ORDER = (
    *("bikes", "diabetes", "breast_cancer", "wine", "contrast", "categories", "bayesian_optimisation"),
    *("digits", "mnist", "unsure", "ablation", "page", "many_rows"),
)


class GalleryOrder:
    """A key for the names of scripts, as sphinx-gallery asks for it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """The place of a script."""
        stem = Path(name).stem
        return (ORDER.index(stem) if stem in ORDER else len(ORDER)), stem
