"""Each plot looks as it did, up to what fonts and versions change. reference_pictures.py writes the pictures anew."""

import pytest
from reference_pictures import CLOSE, FOLDER, PICTURES, distance, rendered


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_the_one_that_was_looked_at(name: str) -> None:
    reference = (FOLDER / f"{name}.png").read_bytes()
    found = distance(reference, rendered(name))
    assert found <= CLOSE, f"{name}: a distance of {found:.4f} from tests/plots/pictures/{name}.png"


@pytest.mark.parametrize("name", PICTURES)
def test_the_distance_sees_a_change(name: str) -> None:
    """Of some of the numbers, by half."""
    assert distance((FOLDER / f"{name}.png").read_bytes(), rendered(name, 1.5)) > CLOSE
