"""Where data come from: folders, the cache, OpenML; and the errors where they are missing or damaged."""

import gzip
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets
import torch

from gplens import datasets

KAGGLE = """datetime,season,holiday,workingday,weather,temp,atemp,humidity,windspeed,casual,registered,count
2011-01-01 05:00:00,1,0,0,2,9.84,12.88,75,6.0032,0,1,1
2012-12-19 23:00:00,4,0,1,1,13.12,16.665,66,8.9981,4,84,88
"""


def _idx(path: Path, array: np.ndarray, packed: bool) -> None:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    content = bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.with_name(path.name + ".gz") if packed else path).write_bytes(gzip.compress(content) if packed else content)


def _write(folder: Path, packed: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    images, labels = rng.integers(256, size=(5, 4, 4), dtype=np.uint8), np.arange(5, dtype=np.uint8)
    for part, rows in (("train", slice(0, 3)), ("t10k", slice(3, 5))):
        _idx(folder / f"{part}-images-idx3-ubyte", images[rows], packed)
        _idx(folder / f"{part}-labels-idx1-ubyte", labels[rows], packed)
    return images, labels


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """GPLENS_DATA and GPLENS_CACHE, both empty."""
    monkeypatch.setenv("GPLENS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GPLENS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data", tmp_path / "cache"


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("place", [0, 1])
def test_images_are_read_from_either_folder(place: int, packed: bool, folders: tuple[Path, Path]) -> None:
    images, labels = _write(folders[place] / "mnist", packed)
    split = datasets.mnist()
    np.testing.assert_allclose(split.train.X, images[:3].reshape(3, 16) / 255, rtol=1e-6)
    np.testing.assert_allclose(split.test.X, images[3:].reshape(2, 16) / 255, rtol=1e-6)
    assert split.train.y.tolist() + split.test.y.tolist() == labels.tolist()
    assert len(split.train.feature_names) == 16


def test_openml_is_the_last_resort_and_keeps_its_files_in_the_cache(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fetch(name: str, **options: object) -> SimpleNamespace:
        asked.append((name, options["data_home"]))
        return SimpleNamespace(data=np.full((60_003, 4), 255), target=np.array(["7"] * 60_003))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    split = datasets.fashion_mnist()
    assert asked == [("Fashion-MNIST", str(folders[1]))]
    assert split.train.X.shape == (60_000, 4)
    assert split.test.y.tolist() == [7.0, 7.0, 7.0]
    assert float(split.test.X.max()) == 1.0


def test_missing_images_are_named_with_the_way_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(name: str, **options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(
        FileNotFoundError, match=r"mnist/train-images-idx3-ubyte.*data and .*cache.*GPLENS_DATA.*OpenML"
    ):
        datasets.mnist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "3 axes.*train-images.*nothing"),
        (b"PNG....", "3 axes.*train-images.*50 4e 47 2e"),
        (bytes([0, 0, 8, 3]) + 3 * (2).to_bytes(4, "big") + b"1234567", r"8 bytes.*\(2, 2, 2\).*7.*train-images"),
    ],
)
def test_damaged_images_are_refused(content: bytes, message: str, folders: tuple[Path, Path]) -> None:
    _write(folders[0] / "mnist")
    (folders[0] / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match=message):
        datasets.mnist()


def test_a_truncated_archive_and_labels_of_other_images_are_refused(folders: tuple[Path, Path]) -> None:
    _write(folders[0] / "mnist")
    path = folders[0] / "mnist" / "train-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte\.gz.*damaged"):
        datasets.mnist()
    _idx(path.with_suffix(""), np.zeros((2, 4, 4), dtype=np.uint8), packed=True)
    with pytest.raises(ValueError, match=r"2 images.*3 labels"):
        datasets.mnist()


def test_bikes_come_from_the_package_or_from_kaggles_table(folders: tuple[Path, Path]) -> None:
    embedded = datasets.bike_sharing()
    assert len(embedded.y) == 8645
    with pytest.raises(FileNotFoundError, match=r"bike-sharing/train\.csv"):
        datasets.bike_sharing(kaggle=True)
    (folders[0] / "bike-sharing").mkdir(parents=True)
    (folders[0] / "bike-sharing" / "train.csv.gz").write_bytes(gzip.compress(KAGGLE.encode()))
    bikes = datasets.bike_sharing()
    assert bikes.feature_names == embedded.feature_names
    torch.testing.assert_close(bikes.X[0], embedded.X[5], rtol=1e-4, atol=0)  # the same hour, once from each source
    assert bikes.y.tolist() == [1.0, 88.0]
    assert [bikes.column(name)[1].item() for name in ("month", "day_of_year", "weekday")] == [12, 354, 3]
    assert len(datasets.bike_sharing(kaggle=False).y) == 8645


def test_another_table_in_its_place_is_refused(folders: tuple[Path, Path]) -> None:
    (folders[0] / "bike-sharing").mkdir(parents=True)
    (folders[0] / "bike-sharing" / "train.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"Kaggle.*bike-sharing/train\.csv.*datetime"):
        datasets.bike_sharing()


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME is Linux's variable")
def test_the_platform_names_the_cache_where_gplens_cache_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPLENS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _write(tmp_path / "gplens" / "mnist")
    assert len(datasets.mnist().train.X) == 3


def test_digits_come_with_scikit_learn() -> None:
    digits = datasets.digits()
    assert digits.X.shape == (1797, 64)
    assert digits.feature_names[9] == "pixel_1_1"


MEANS = {
    "exp": lambda f: f.exp()[:, 0],
    "probit": lambda f: torch.special.ndtr(f)[:, 0],
    "sigmoid": lambda f: f.sigmoid()[:, 0],
    "softmax": lambda f: f.softmax(1) @ torch.arange(5.0, dtype=torch.float64),
    "square": lambda f: torch.zeros_like(f[:, 0]),
}


@pytest.mark.parametrize("link", MEANS)
def test_synthetic_samples_have_the_moments_that_the_paper_gives_them(link: str) -> None:
    """Residuals of 20,000 rows average out; N(0, f^2) also in its square."""
    data = datasets.synthetic(link, rows=20_000, seed=3)
    assert data.latent is not None
    away = data.y - MEANS[link](data.latent)
    assert float(away.mean().abs() / (away.std() / 20_000**0.5)) < 4
    if link == "square":
        torch.testing.assert_close((data.y**2).mean(), (data.latent**2).mean(), rtol=0.05, atol=0)
    assert -2 <= float(data.X.min()) < -1.99
    assert 1.99 < float(data.X.max()) <= 2
    # W is what a least-squares fit of the latent values on sin 2x gives, without a residual
    W = torch.linalg.lstsq(torch.sin(2 * data.X), data.latent)
    torch.testing.assert_close(torch.sin(2 * data.X) @ W.solution, data.latent)


def test_synthetic_samples_follow_their_seed() -> None:
    a, b, c = (datasets.synthetic("exp", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(a.y, b.y)
    assert not torch.equal(a.X, c.X)
    with pytest.raises(ValueError, match="link='cube'"):
        datasets.synthetic("cube")
