"""The recipe of docs/SCALE.md for Spark: the batch function in `mapInArrow`. Skips where pyspark or Java is missing."""

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow
import pytest
from scale_tables import check_same_rows, table, write_files

from gplens.batch import Explainer, Options

ROWS = 3000


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_spark_gives_the_same_rows(small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none")
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    rows = table(ROWS)
    data = write_files(tmp_path / "data", rows, files=2, group=1000)
    explainer = Explainer(small_model / "model", Options(keep=("key",)))
    schema = from_arrow_schema(explainer(rows.slice(0, 1)).schema)

    def explain(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            yield from explainer(pyarrow.Table.from_batches([batch])).to_batches()

    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        got = spark.read.parquet(str(data)).mapInArrow(explain, schema).toArrow()
    finally:
        spark.stop()
    check_same_rows(got.sort_by("key"), explainer(rows))
