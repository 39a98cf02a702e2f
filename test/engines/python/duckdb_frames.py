"""DuckDB reads and writes Lance tables by its extension, from paths and from attached namespaces."""

from contextlib import contextmanager

import duckdb
import pyarrow as pa
from duckdb_extensions import import_extension

from frames import conform, conformed  # noqa: F401

import_extension("lance")


database = duckdb.connect(config={"threads": 2})
database.execute("LOAD lance")


@contextmanager
def attachment(source: str, options: str = ""):
    """A connection with a namespace attached as `ours`, which sees what others changed before."""
    connection = database.cursor()
    connection.execute(f"ATTACH {quoted(source)} AS ours (TYPE LANCE{options})")
    try:
        yield connection
    finally:
        # A failure leaves its transaction open, but the next cursor has its own.
        connection.close()
        database.cursor().execute("DETACH ours")


def quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def selected(like: pa.Table) -> str:
    return ", ".join(f'"{name}"' for name in like.schema.names)


def rows(path: str, like: pa.Table, where: str | None = None) -> pa.Table:
    query = f"SELECT {selected(like)} FROM {quoted(path)}" + ("" if where is None else f" WHERE {where}")
    return conform(database.cursor().execute(query).to_arrow_table(), like)


def groups(path: str, like: pa.Table, where: str) -> pa.Table:
    query = (
        'SELECT kind, count(*) AS "rows", sum(id) AS ids, max(n) AS most, count(s) AS texts '
        f"FROM {quoted(path)} WHERE {where} GROUP BY kind ORDER BY kind"
    )
    return conform(database.cursor().execute(query).to_arrow_table(), like)


def joined(path: str, other: str, like: pa.Table) -> pa.Table:
    query = f"SELECT t.id, t.kind, o.label FROM {quoted(path)} t JOIN {quoted(other)} o USING (kind) ORDER BY t.id"
    return conform(database.cursor().execute(query).to_arrow_table(), like)


def plan(path: str, where: str) -> str:
    return str(database.cursor().execute(f"EXPLAIN SELECT id FROM {quoted(path)} WHERE {where}").fetchall())


def write(path: str, table: pa.Table, mode: str) -> None:
    connection = database.cursor()
    connection.register("given", table)
    mode = "overwrite" if mode == "create" else mode
    connection.execute(f"COPY (SELECT * FROM given) TO {quoted(path)} (FORMAT lance, mode '{mode}')")


def attached(root: str, statements: list[str]) -> None:
    with attachment(root) as connection:
        for statement in statements:
            connection.execute(statement)


def attached_rows(root: str, query: str, like: pa.Table) -> pa.Table:
    with attachment(root) as connection:
        return conform(connection.execute(query).to_arrow_table(), like)


def rest_rows(url: str, options: str, query: str, like: pa.Table) -> pa.Table:
    """Reads with the root of a catalog attached."""
    with attachment("$", f", ENDPOINT {quoted(url)}{options}") as connection:
        return conform(connection.execute(query).to_arrow_table(), like)


def rest_run(url: str, options: str, statements: list[str]) -> None:
    with attachment("$", f", ENDPOINT {quoted(url)}{options}") as connection:
        for statement in statements:
            connection.execute(statement)


def run(statement: str) -> None:
    database.cursor().execute(statement)


def nearest(path: str, column: str, vector: list[float], count: int) -> list[int]:
    query = (
        f"SELECT id FROM lance_vector_search({quoted(path)}, '{column}', {vector}::FLOAT[{len(vector)}], k = {count}) "
        "ORDER BY _distance"
    )
    return [row[0] for row in database.cursor().execute(query).fetchall()]
