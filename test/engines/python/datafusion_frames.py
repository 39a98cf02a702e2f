"""DataFusion reads and writes Lance tables by pylance's table provider."""

import datafusion
import lance
import pyarrow as pa

from frames import conform, conformed  # noqa: F401


def context(**tables: str) -> datafusion.SessionContext:
    session = datafusion.SessionContext()
    for name, path in tables.items():
        provider = lance.FFILanceTableProvider(lance.dataset(path), with_row_id=False, with_row_addr=False)
        session.register_table(name, provider)
    return session


def answer(query: str, **tables: str) -> pa.Table:
    # A provider needs its session for as long as the query runs.
    session = context(**tables)
    return session.sql(query).to_arrow_table()


def selected(like: pa.Table, table: str = "") -> str:
    return ", ".join(f'{table}"{name}"' for name in like.schema.names)


def rows(path: str, like: pa.Table, where: str | None = None) -> pa.Table:
    query = f"SELECT {selected(like)} FROM t" + ("" if where is None else f" WHERE {where}")
    return conform(answer(query, t=path), like)


def groups(path: str, like: pa.Table, where: str) -> pa.Table:
    query = (
        'SELECT kind, count(*) AS "rows", sum(id) AS ids, max(n) AS most, count(s) AS texts '
        f"FROM t WHERE {where} GROUP BY kind ORDER BY kind"
    )
    return conform(answer(query, t=path), like)


def joined(path: str, other: str, like: pa.Table) -> pa.Table:
    query = "SELECT t.id, t.kind, o.label FROM t JOIN o ON t.kind = o.kind ORDER BY t.id"
    return conform(answer(query, t=path, o=other), like)


def plan(path: str, where: str) -> str:
    return str(answer(f"EXPLAIN SELECT id FROM t WHERE {where}", t=path).to_pylist())


def write(path: str, table: pa.Table, mode: str) -> None:
    """Streams the result of a query into a table; DataFusion has no table of Lance that it could insert into."""
    session = datafusion.SessionContext()
    session.from_arrow(table, name="given")
    lance.write_dataset(pa.RecordBatchReader.from_stream(session.sql("SELECT * FROM given")), path, mode=mode)


def insert(path: str) -> None:
    answer("INSERT INTO t SELECT * FROM t", t=path)
