"""The models of the first table of `make bench`, trained once and kept in a cache folder, not in the repository.

python benchmarks/trained.py                     trains the models that are missing, and prints their scores
python benchmarks/trained.py bikes mnist         these alone
python benchmarks/trained.py --cache FOLDER      keeps them there, not in the cache folder of gplens

The name of a model's folder contains a digest of its data, its settings and the versions of the packages that fit it:
if one of these changes, the model is trained again. MNIST and Fashion-MNIST are found as `gplens.datasets` finds them.
"""

import argparse
import hashlib
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter, process_time

import torch

from gplens.datasets.dataset import cache
from models import Workload
from recipes import Bikes, Data, Images, Recipe
from recipes_of_hosts import Hartmann, Regressor

RECIPES: dict[str, Recipe] = {
    "bikes": Bikes(),
    "mnist": Images("mnist", shared=False),
    "fashion": Images("fashion_mnist", shared=False),
    "shared": Images("mnist", shared=True),
    "botorch": Hartmann(),
    "sklearn": Regressor(),
}
SCORE = "score.json"


@dataclass(frozen=True)
class Trained:
    """A fitted model with the held-out rows to explain, and what it reached on them."""

    title: str
    workload: Workload
    score: str
    cpu_seconds: float


def default_folder() -> Path:
    """Beside what gplens itself keeps: in the folder that GPLENS_CACHE names, or the platform's folder for caches."""
    return cache() / "benchmarks"


def load(name: str, folder: Path | None = None) -> Trained:
    """The model of this name, trained now if the folder does not have it."""
    recipe = RECIPES[name]
    data = recipe.data()
    home = (folder or default_folder()) / f"{name}-{digest(recipe, data)}"
    if not (home / SCORE).is_file():
        _train(recipe, data, home)
    kept = json.loads((home / SCORE).read_text())
    workload = recipe.workload(recipe.load(home, data), data)
    return Trained(recipe.title, workload, f"{kept['score']} {kept['reached']:.4f}", kept["cpu_seconds"])


def digest(recipe: Recipe, data: Data) -> str:
    """Twelve hexadecimal digits of a hash of settings, versions and data."""
    sha = hashlib.sha256(f"{recipe.settings} {recipe.versions()}".encode())
    for tensor in (data.X, data.y, data.held, data.held_y):
        sha.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
        sha.update(tensor.contiguous().numpy().data)
    return sha.hexdigest()[:12]


def _train(recipe: Recipe, data: Data, home: Path) -> None:
    """Fit, score and write to a temporary folder, which then takes the name: all or nothing."""
    print(f"training {recipe.title} ...", file=sys.stderr, flush=True)
    wall, cpu = perf_counter(), process_time()
    model = recipe.fit(data)
    spent = {"seconds": perf_counter() - wall, "cpu_seconds": process_time() - cpu}
    reached = {"score": recipe.score_name, "reached": recipe.score(model, data), **spent}
    how = {"settings": recipe.settings, "packages": recipe.versions()}
    home.parent.mkdir(parents=True, exist_ok=True)
    new = Path(mkdtemp(prefix=f".{home.name}.", dir=home.parent))
    recipe.save(model, new)
    (new / SCORE).write_text(json.dumps({**reached, **how}, indent=2) + "\n")
    if home.exists():
        shutil.rmtree(home)  # an interrupted run of another version of this script; it has no score
    new.rename(home)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the models of the benchmarks that are missing.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(RECIPES)}; all if left out")
    parser.add_argument("--cache", type=Path, help="the folder that keeps them (default: the cache folder of gplens)")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in options.names or RECIPES:
        if name not in RECIPES:
            parser.error(f"expected some of {', '.join(RECIPES)}, got {name}")
        trained = load(name, options.cache)
        print(f"{name}: {trained.title}; {trained.score} after {trained.cpu_seconds:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
