"""Creates, changes and reads a table through a Tiltyard server, with Spark's SQL.

Start the server with `TILTYARD_API_KEY=secret npm run serve`, then run this with the same variable:
`pip install pyspark==4.0.5`, `TILTYARD_API_KEY=secret python examples/spark/trees.py`.

Environment: `TILTYARD_API_KEY` (needed), `TILTYARD_URL` (default http://127.0.0.1:8080).
"""

import os
import sys

from pyspark.sql import SparkSession

BUNDLE = "org.lance:lance-spark-bundle-4.0_2.13:0.7.1"


def connect(url: str, key: str) -> SparkSession:
    """Starts Spark on this machine with the server's tables in the catalog `tilt`."""
    return (
        SparkSession.builder.master("local[2]")
        .appName("trees")
        .config("spark.jars.packages", BUNDLE)
        .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
        .config("spark.sql.catalog.tilt", "org.lance.spark.LanceNamespaceSparkCatalog")
        .config("spark.sql.catalog.tilt.impl", "rest")
        .config("spark.sql.catalog.tilt.uri", url)
        .config("spark.sql.catalog.tilt.headers.x-api-key", key)
        .getOrCreate()
    )


def main() -> None:
    key = os.environ.get("TILTYARD_API_KEY")
    if not key:
        sys.exit("Set TILTYARD_API_KEY to the key of the server.")
    spark = connect(os.environ.get("TILTYARD_URL", "http://127.0.0.1:8080"), key)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS tilt.park")
    spark.sql("DROP TABLE IF EXISTS tilt.park.trees PURGE")
    spark.sql("CREATE TABLE tilt.park.trees (id BIGINT, kind STRING, height DOUBLE)")
    spark.sql("INSERT INTO tilt.park.trees VALUES (1, 'oak', 21.5), (2, 'birch', 12.0), (3, 'oak', 8.5)")
    spark.sql("UPDATE tilt.park.trees SET height = 9.0 WHERE id = 3")
    spark.sql(
        "SELECT kind, count(*) AS trees, max(height) AS highest FROM tilt.park.trees GROUP BY kind"
    ).show()
    spark.stop()


if __name__ == "__main__":
    main()
