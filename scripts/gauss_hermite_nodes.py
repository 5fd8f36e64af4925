"""How many Gauss-Hermite nodes the moments of the sigmoid need for 1e-10, where links/logistic.py takes 45 or 51."""

import torch
from scipy.special import roots_hermitenorm

from gplens.links import Quadrature, Sigmoid
from gplens.links.sigmoid import sigmoid_at

MEANS = torch.linspace(0, 3, 7, dtype=torch.float64)


def error(sd: float, nodes: int) -> float:
    z, w = (torch.as_tensor(part) for part in roots_hermitenorm(nodes))
    found = [(values * w / w.sum()).sum(1) for values in sigmoid_at(MEANS[:, None] + sd * z)]
    wanted = Quadrature(torch.sigmoid, 1e-12).moments(MEANS, torch.full_like(MEANS, sd**2))
    return max(float((a - b).abs().max()) for a, b in zip(found, wanted, strict=True))


def main() -> None:
    print(f"{Sigmoid()}, means 0 to 3")
    for sd, counts in ((1.0, range(16, 60, 4)), (2.0, range(60, 140, 4)), (5.0, range(400, 640, 20)), (20.0, (4000,))):
        enough = next((n for n in counts if error(sd, n) <= 1e-10), None)
        print(f"sd {sd:>4g}: {enough or f'more than {counts[-1]} (error {error(sd, counts[-1]):.0e} left)'} nodes")


if __name__ == "__main__":
    main()
