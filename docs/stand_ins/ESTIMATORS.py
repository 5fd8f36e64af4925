# What stands for the reader's tables.
import numpy as np
import pandas

random = np.random.default_rng(0)
frame = pandas.DataFrame(random.normal(size=(40, 3)), columns=["a", "b", "c"])
labels = np.digitize(frame["a"], [-0.5, 0.5])
# %% 3
houses = pandas.DataFrame(
    {
        "hour": random.integers(0, 24, 30),
        "price": random.uniform(1, 9, 30),
        "rooms": random.integers(1, 5, 30),
        "name": [f"house {k}" for k in range(30)],
        "neighbourhood": np.resize(["OldTown", "Hill", "Harbour"], 30),
    }
)
target = houses["price"].to_numpy() + houses["rooms"].to_numpy()
