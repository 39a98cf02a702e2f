"""What the engines that work on frames have in common: answers in the types that the test expects."""

import pyarrow as pa


def conform(table: pa.Table, like: pa.Table) -> pa.Table:
    """Casts columns to the types of `like`: engines widen texts, rename items of lists, and drop time zones' names."""
    columns = [table.column(field.name).cast(field.type) for field in like.schema]
    return pa.table(columns, schema=like.schema)


def conformed(table: pa.Table, like: pa.Table) -> pa.Table:
    """Casts what we read of a table that the engine wrote."""
    return conform(table, like)
