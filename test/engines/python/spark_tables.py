"""Spark reads and writes Lance tables by lance-spark, in local mode with two threads."""

import pyarrow as pa
from pyspark.sql import SparkSession

from frames import conform

spark = None


def start(jar: str | None, directory: str, catalogs: dict[str, dict[str, str]]) -> str:
    """Starts a session with catalogs by name, and returns Spark's release. `directory` takes what Spark stores."""
    global spark
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("engines")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", directory)
        .config("spark.local.dir", directory)
    )
    if jar is not None:
        builder = builder.config("spark.jars", jar).config(
            "spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions"
        )
    for name, options in catalogs.items():
        builder = builder.config(f"spark.sql.catalog.{name}", "org.lance.spark.LanceNamespaceSparkCatalog")
        for option, value in options.items():
            builder = builder.config(f"spark.sql.catalog.{name}.{option}", value)
    spark = builder.getOrCreate()
    return spark.version


def stop() -> None:
    spark.stop()


def run(statements: list[str]) -> None:
    for statement in statements:
        spark.sql(statement).collect()


def rows(query: str, like: pa.Table) -> pa.Table:
    return conform(spark.sql(query).toArrow(), like)


def values(query: str) -> list[list]:
    """Rows of numbers, texts and nulls."""
    return [list(row) for row in spark.sql(query).collect()]
