"""Daft reads and writes Lance tables by daft-lance."""

import daft
import daft_lance
import pyarrow as pa

from frames import conform, conformed  # noqa: F401


def rows(path: str, like: pa.Table, where: str | None = None) -> pa.Table:
    frame = daft_lance.read_lance(path)
    if where is not None:
        frame = frame.where(daft.sql_expr(where))
    return conform(frame.select(*like.schema.names).to_arrow(), like)


def groups(path: str, like: pa.Table, where: str) -> pa.Table:
    frame = daft_lance.read_lance(path).where(daft.sql_expr(where)).groupby("kind")
    counted = frame.agg(
        daft.col("id").count("all").alias("rows"),
        daft.col("id").sum().alias("ids"),
        daft.col("n").max().alias("most"),
        daft.col("s").count().alias("texts"),
    )
    return conform(counted.sort("kind").to_arrow(), like)


def joined(path: str, other: str, like: pa.Table) -> pa.Table:
    frame = daft_lance.read_lance(path).select("id", "kind").join(daft_lance.read_lance(other), on="kind")
    return conform(frame.select(*like.schema.names).sort("id").to_arrow(), like)


def write(path: str, table: pa.Table, mode: str) -> None:
    daft_lance.write_lance(daft.from_arrow(table), path, mode=mode).collect()


def rows_by_rest(properties: dict[str, str], table_id: list[str], like: pa.Table) -> pa.Table:
    frame = daft_lance.read_lance(table_id=table_id, namespace_impl="rest", namespace_properties=properties)
    return conform(frame.select(*like.schema.names).to_arrow(), like)


def write_by_rest(properties: dict[str, str], table_id: list[str], table: pa.Table, mode: str) -> None:
    frame = daft.from_arrow(table)
    daft_lance.write_lance(
        frame, mode=mode, table_id=table_id, namespace_impl="rest", namespace_properties=properties
    ).collect()
