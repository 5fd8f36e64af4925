# What stands for the reader's data and model, and for Ray Data and Spark, with which tests/scale runs the same blocks.
from pathlib import Path
from types import SimpleNamespace as Namespace

import numpy as np
import pandas
import pyarrow
from pyarrow import parquet

from gplens.batch import Explainer
from gplens.estimators import GPRegressor

random = np.random.default_rng(0)
frame = pandas.DataFrame(random.normal(size=(30, 2)), columns=["heat", "time"])
GPRegressor(random_state=0, progress=False).fit(frame, frame.sum(axis=1)).save("model")
Path("data").mkdir()
frame.assign(id=range(30)).to_parquet("data/rows.parquet")
some_rows = parquet.read_table("data/rows.parquet")


class Dataset:
    def map_batches(self, function, *, fn_constructor_args, batch_format, concurrency):
        return function(*fn_constructor_args)(some_rows)

    def mapInArrow(self, function, schema):
        return pyarrow.Table.from_batches(function(iter(some_rows.to_batches())), schema=schema)


# %% 2
assert outcome.rows == 30
ray = Namespace(data=Namespace(read_parquet=lambda path: Dataset()))
# %% 3
assert results.num_rows == 30
types = Namespace(from_arrow_schema=lambda schema: schema)
pyspark = Namespace(sql=Namespace(pandas=Namespace(types=types)))
spark = Namespace(read=Namespace(parquet=lambda path: Dataset()))
# %% end
assert results.num_rows == 30
