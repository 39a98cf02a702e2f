"""Works on the namespaces and tables of a directory with pylance's DirectoryNamespace."""

import lance
import lance.namespace
import pyarrow as pa


def ask(root, operation, request, table=None):
    """Calls an operation by its name in Python, such as create_namespace; a table goes along as an Arrow stream."""
    name = "".join(word.capitalize() for word in operation.split("_"))
    asked = getattr(lance.namespace, f"{name}Request")(**request)
    body = []
    if table is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        body = [sink.getvalue().to_pybytes()]
    answer = getattr(lance.namespace.DirectoryNamespace(root=root), operation)(asked, *body)
    return {} if answer is None else answer.model_dump(exclude_none=True)


def ids_of(root, table_id):
    """Column `id` of a table, by the location that its namespace tells; None for a table that is declared only."""
    location = ask(root, "describe_table", {"id": table_id})["location"]
    try:
        return sorted(lance.dataset(location).to_table(columns=["id"])["id"].to_pylist())
    except ValueError as error:
        if "not found" not in str(error):
            raise
        return None


def view(root, namespace=()):
    """Properties, tables and namespaces below a namespace."""
    path = list(namespace)
    # The root has properties in no release.
    properties = ask(root, "describe_namespace", {"id": path}).get("properties", {}) if path else {}
    tables = ask(root, "list_tables", {"id": path}).get("tables", [])
    children = ask(root, "list_namespaces", {"id": path}).get("namespaces", [])
    return {
        "properties": properties,
        "tables": {name: ids_of(root, path + [name]) for name in tables},
        "namespaces": {name: view(root, path + [name]) for name in children},
    }
