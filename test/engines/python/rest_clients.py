"""Calls a REST server of Lance namespaces with the clients of pylance and LanceDB."""

import lance
import lance_namespace
import pyarrow as pa
from rest_adapter import start as start_reference  # noqa: F401

_connections = {}


def _properties(url, api_key):
    return {"uri": url, **({"headers.x-api-key": api_key} if api_key is not None else {})}


# pylance's client of the namespace spec


def connect_namespace(url, api_key):
    """Connects by the spec's client; the calls that follow use this connection."""
    _connections["namespace"] = lance_namespace.connect("rest", _properties(url, api_key))


def namespace_call(method, request, rows=None):
    """Calls a method of the spec's client and returns its answer as JSON, or as a table."""
    others = {"list_all_tables": "ListTables", "create_table_scalar_index": "CreateTableIndex"}
    name = others.get(method) or "".join(part.capitalize() for part in method.split("_"))
    takes_dictionary = method.endswith("_version") or method.endswith("_versions") and method.startswith("batch")
    takes_dictionary = takes_dictionary and method != "get_table_tag_version"
    sent = request if takes_dictionary else getattr(lance_namespace, f"{name}Request").from_dict(request)
    arguments = [sent] if rows is None else [sent, _stream(rows)]
    answer = getattr(_connections["namespace"], method)(*arguments)
    if method == "query_table":
        return pa.ipc.open_file(pa.py_buffer(getattr(answer, "data", answer))).read_all()
    if hasattr(answer, "model_dump"):
        members = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        # Headers of the answer.
        members.pop("context", None)
        return members
    return answer


def _stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


# pylance's datasets through that client


def _dataset(table_id):
    return lance.dataset(namespace_client=_connections["namespace"], table_id=table_id)


def write(table_id, rows, mode="create"):
    """Returns the version, and whether it was committed through the server."""
    dataset = lance.write_dataset(rows, namespace_client=_connections["namespace"], table_id=table_id, mode=mode)
    return {"version": dataset.version, "managed": dataset._namespace_client_managed_versioning}


def append_each(table_id, tables):
    for table in tables:
        write(table_id, table, "append")


def rows(table_id, version=None):
    dataset = _dataset(table_id)
    return (dataset if version is None else dataset.checkout_version(version)).to_table()


def commit_fragments(table_id, table):
    """Writes fragments first, and commits them in a second step, as distributed writers do."""
    dataset = _dataset(table_id)
    fragments = lance.fragment.write_fragments(table, dataset)
    return lance.LanceDataset.commit(
        dataset.uri,
        lance.LanceOperation.Append(fragments),
        read_version=dataset.version,
        namespace_client=_connections["namespace"],
        table_id=table_id,
        namespace_client_managed_versioning=True,
    ).version


def change(table_id, table):
    """Deletes, updates and merges rows, and adds a column, an index and a tag."""
    dataset = _dataset(table_id)
    dataset.delete("id % 10 = 3")
    dataset.update({"s": "upper(s)"}, where="id < 20")
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(table)
    dataset.add_columns({"twice": "id * 2"})
    dataset.create_scalar_index("id", "BTREE")
    dataset.tags.create("good", dataset.version)
    return dataset.version


# LanceDB


def connect_lancedb(kind, url, api_key):
    """Connects LanceDB by "namespace" (connect_namespace), "pushdown" (the same, queries run there) or "remote"."""
    import lancedb

    if kind == "remote":
        _connections["db"] = lancedb.connect("db://tests", api_key=api_key or "", host_override=url)
    else:
        operations = ["QueryTable", "CreateTable"] if kind == "pushdown" else []
        _connections["db"] = lancedb.connect_namespace(
            "rest", _properties(url, api_key), namespace_client_pushdown_operations=operations
        )


def _table(name):
    return _connections["db"].open_table(name[-1], namespace_path=name[:-1])


def create_namespace(path):
    _connections["db"].create_namespace(path)


def drop_namespace(path):
    _connections["db"].drop_namespace(path)


def listed(path):
    """Names of namespaces and tables."""
    database = _connections["db"]
    return {"namespaces": database.list_namespaces(path).namespaces, "tables": database.list_tables(path).tables}


def create_table(name, table):
    return _connections["db"].create_table(name[-1], table, namespace_path=name[:-1]).version


def drop_table(name):
    _connections["db"].drop_table(name[-1], namespace_path=name[:-1])


def rename_table(name, new_name):
    _connections["db"].rename_table(name[-1], new_name, cur_namespace_path=name[:-1], new_namespace_path=name[:-1])


def add(name, table, mode="append"):
    return _table(name).add(table, mode=mode).version


def delete(name, predicate):
    return _table(name).delete(predicate).num_deleted_rows


def update(name, where, expressions):
    return _table(name).update(where=where, values_sql=expressions).rows_updated


def merge(name, key, table):
    merged = _table(name).merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(table)
    return {"inserted": merged.num_inserted_rows, "updated": merged.num_updated_rows}


def count(name, predicate=None):
    return _table(name).count_rows(predicate)


def schema(name):
    return _table(name).schema.empty_table()


def search(name, query, plan=None):
    """Runs a query of `vector`, `text`, `where`, `columns`, `limit`, `offset`; or explains or analyses it."""
    table = _table(name)
    vector, text = query.get("vector"), query.get("text")
    if vector is not None and text is not None:
        builder = table.search(query_type="hybrid", vector_column_name="v").vector(vector).text(text)
    elif vector is not None:
        builder = table.search(vector, vector_column_name="v")
    elif text is not None:
        builder = table.search(text, query_type="fts")
    else:
        builder = table.search()
    if "where" in query:
        builder = builder.where(query["where"])
    if "columns" in query:
        builder = builder.select(query["columns"])
    if "offset" in query:
        builder = builder.offset(query["offset"])
    builder = builder.limit(query.get("limit", 10_000))
    return builder.to_arrow() if plan is None else getattr(builder, f"{plan}_plan")()


def create_indexes(name):
    from datetime import timedelta

    from lancedb.index import FTS, BTree, IvfFlat

    table = _table(name)
    table.create_index("id", config=BTree())
    table.create_index("s", config=FTS())
    table.create_index("v", config=IvfFlat(distance_type="l2", num_partitions=2))
    table.wait_for_index(["id_idx", "s_idx", "v_idx"], timeout=timedelta(seconds=60))


def indexes(name):
    """Names of the indexes, with their types and how many rows they have."""
    table = _table(name)
    described = {each.name: each for each in table.list_indices()}
    statistics = {each: table.index_stats(each) for each in described}
    return {
        each: {
            "type": described[each].index_type,
            "columns": described[each].columns,
            "rows": statistics[each].num_indexed_rows,
            "left": statistics[each].num_unindexed_rows,
        }
        for each in described
    }


def drop_index(name, index):
    _table(name).drop_index(index)


def versions(name):
    return [each["version"] for each in _table(name).list_versions()]


def rows_at(name, version):
    table = _table(name)
    table.checkout(version)
    return table.search().limit(10_000).to_arrow()


def restore(name, version):
    _table(name).restore(version)


def tag(name, action, *arguments):
    """Calls a method of the table's tags."""
    return getattr(_table(name).tags, action)(*arguments)


def branch(name, action, *arguments):
    result = getattr(_table(name).branches, action)(*arguments)
    return sorted(result) if isinstance(result, dict) else None


def add_to_branch(name, branch_name, table):
    handle = _table(name).branches.checkout(branch_name)
    handle.add(table)
    return handle.count_rows()


def columns(name, action, argument):
    """Calls a method of the table that changes columns."""
    return getattr(_table(name), f"{action}_columns")(argument).version


def statistics(name):
    return dict(_table(name).stats())


def jobs():
    return [{"id": job.job_id, "table": job.table, "state": job.state} for job in _connections["db"].list_jobs()]
