"""Polars reads and writes Lance tables by polars-pylance."""

import lance
import polars as pl
import polars_pylance
import pyarrow as pa

from frames import conform, conformed  # noqa: F401


def rows(path: str, like: pa.Table, where: str | None = None) -> pa.Table:
    frame = polars_pylance.scan_lance(path)
    if where is not None:
        frame = frame.filter(pl.sql_expr(where))
    return conform(frame.select(like.schema.names).collect().to_arrow(), like)


def groups(path: str, like: pa.Table, where: str) -> pa.Table:
    frame = polars_pylance.scan_lance(path).filter(pl.sql_expr(where)).group_by("kind")
    counted = frame.agg(
        pl.len().alias("rows"),
        pl.col("id").sum().alias("ids"),
        pl.col("n").max().alias("most"),
        pl.col("s").count().alias("texts"),
    )
    return conform(counted.sort("kind").collect().to_arrow(), like)


def joined(path: str, other: str, like: pa.Table) -> pa.Table:
    frame = polars_pylance.scan_lance(path).join(polars_pylance.scan_lance(other), on="kind")
    return conform(frame.select(like.schema.names).sort("id").collect().to_arrow(), like)


def write(path: str, table: pa.Table, mode: str) -> None:
    polars_pylance.sink_lance(pl.from_arrow(table).lazy(), path, mode=mode)


def fragments_written(path: str, tables: list[pa.Table]) -> None:
    """Appends frames by a fragment each, in one commit."""
    frames = [pl.from_arrow(table).lazy() for table in tables]
    # Without the schema, Polars' large texts and lists are refused.
    polars_pylance.write_lance_fragments(frames, path, mode="append", arrow_schema=lance.dataset(path).schema)
