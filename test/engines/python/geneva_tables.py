"""Geneva computes columns by functions of Python, in a Ray cluster of two workers on this machine."""

from ray_cluster import start, stop  # noqa: F401, I001

import geneva
import pyarrow as pa


@geneva.udf(data_type=pa.int64())
def twice(id: int) -> int:
    return id * 2


def create(root: str, name: str, table: pa.Table) -> None:
    """Makes a table with the column `twice`, which is not computed yet."""
    geneva.connect(root).create_table(name, table).add_columns({"twice": twice})


def backfill(root: str, name: str, column: str) -> str:
    database = geneva.connect(root)
    with database.local_ray_context():
        return database.open_table(name).backfill(column, concurrency=1).status


def rows(root: str, name: str, columns: list[str]) -> pa.Table:
    return geneva.connect(root).open_table(name).to_arrow().select(columns)


def metadata(root: str, name: str, column: str) -> dict[str, str]:
    """What a column's field says of how it is computed."""
    field = geneva.connect(root).open_table(name).schema.field(column)
    return {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
