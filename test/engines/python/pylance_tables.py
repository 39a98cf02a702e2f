"""Changes and reads Lance tables with pylance. A `path` is a table's directory."""

import time
from datetime import timedelta

import lance
import numpy as np
import pyarrow as pa


def release():
    return lance.__version__


def write(path, table, options=None):
    """Creates a table, or changes it by `mode`: "append" or "overwrite"."""
    return lance.write_dataset(table, path, **(options or {})).version


def open_table(path, version=None):
    return lance.dataset(path, version=tuple(version) if isinstance(version, list) else version)


def rows(path, query=None, version=None):
    """Reads rows by the arguments of a scanner."""
    return open_table(path, version).scanner(**(query or {})).to_table()


def nearest(path, column, vector, query=None, **_):
    """Searches vectors: `query` has the members of `nearest`, and `filter` and `prefilter` beside them."""
    asked = dict(query or {})
    scanner = {name: asked.pop(name) for name in ("filter", "prefilter", "columns") if name in asked}
    nearest_to = {"column": column, "q": np.array(vector, dtype=np.float32), **asked}
    return lance.dataset(path).scanner(nearest=nearest_to, **scanner).to_table()


def explain(path, query):
    return lance.dataset(path).scanner(**query).explain_plan(verbose=True)


def versions(path):
    return [version["version"] for version in lance.dataset(path).versions()]


def fragments(path):
    return [
        {"id": each.fragment_id, "rows": each.count_rows(), "deleted": each.num_deletions}
        for each in lance.dataset(path).get_fragments()
    ]


def append_row(path, row):
    """Appends a row of numbers."""
    table = pa.table({name: pa.array([value], pa.float64()) for name, value in row.items()})
    return lance.write_dataset(table, path, mode="append").version


def delete(path, predicate):
    lance.dataset(path).delete(predicate)


def update(path, updates, where=None):
    lance.dataset(path).update(updates, where=where)


def merge(path, key, table):
    """Updates rows of equal keys and inserts the others."""
    lance.dataset(path).merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(table)


def add_columns(path, expressions):
    lance.dataset(path).add_columns(expressions)


def add_null_column(path, name):
    lance.dataset(path).add_columns(pa.field(name, pa.string()))


def alter_column(path, change):
    lance.dataset(path).alter_columns(change)


def drop_columns(path, names):
    lance.dataset(path).drop_columns(names)


def compact(path, options=None):
    lance.dataset(path).optimize.compact_files(**(options or {}))


def optimize_indices(path):
    lance.dataset(path).optimize.optimize_indices()


def cleanup(path):
    """Removes all versions but the latest and those with tags."""
    dataset = lance.dataset(path)
    dataset.cleanup_old_versions(timedelta(0), error_if_tagged_old_versions=False)


def create_scalar_index(path, column, index_type, options=None):
    lance.dataset(path).create_scalar_index(column, index_type, **(options or {}))


def create_vector_index(path, column, index_type, options=None):
    lance.dataset(path).create_index(column, index_type, **(options or {}))


def indices(path):
    dataset = lance.dataset(path)
    return [{"name": each.name, "type": each.index_type, "columns": each.field_names} for each in dataset.describe_indices()]


def reference_of(value):
    """A version, the name of a tag, or a branch with a version or none."""
    return tuple(value) if isinstance(value, list) else value


def create_tag(path, name, reference):
    lance.dataset(path).tags.create(name, reference_of(reference))


def update_tag(path, name, reference):
    lance.dataset(path).tags.update(name, reference_of(reference))


def delete_tag(path, name):
    lance.dataset(path).tags.delete(name)


def tags(path):
    """Branch and version of each tag; the branch is None for the main one."""
    return {name: [tag.get("branch"), tag["version"]] for name, tag in lance.dataset(path).tags.list().items()}


def create_branch(path, name, reference):
    lance.dataset(path).create_branch(name, reference_of(reference))


def delete_branch(path, name):
    lance.dataset(path).branches.delete(name)


def branches(path):
    """Parent and its version of each branch."""
    listed = lance.dataset(path).branches.list().items()
    return {name: [branch["parent_branch"], branch["parent_version"]] for name, branch in listed}


def rows_of(path, reference):
    return lance.dataset(path).checkout_version(reference_of(reference)).to_table()


def version_of(path, reference):
    return lance.dataset(path).checkout_version(reference_of(reference)).version


def append_to(path, reference, table):
    lance.write_dataset(table, lance.dataset(path).checkout_version(reference_of(reference)), mode="append")


def delete_from(path, reference, predicate):
    lance.dataset(path).checkout_version(reference_of(reference)).delete(predicate)


def restore(path, version):
    lance.dataset(path, version=version).restore()


def validate(path):
    """Checks the consistency of manifest, fragments and indexes."""
    lance.dataset(path).validate()


def blobs(path, column, indices):
    """Bytes of blobs in hexadecimal digits; None for nulls."""
    taken = lance.dataset(path).take_blobs(column, indices=indices)
    return [None if blob is None else blob.readall().hex() for blob in taken]


def write_blobs(path, ids, values, options=None):
    """Writes blobs of version 2, from hexadecimal digits."""
    blobs = lance.blob_array([None if value is None else bytes.fromhex(value) for value in values])
    schema = pa.schema([pa.field("id", pa.int32()), lance.blob_field("b")])
    lance.write_dataset(pa.table([pa.array(ids, pa.int32()), blobs], schema=schema), path, **(options or {}))


def race(path, first, seconds):
    """Appends, updates and deletes rows for some seconds while another process does.

    Appends rows with keys from `first` on, deletes every third of them, and adds 1 to `n` of row 0 in between.
    Returns what was acknowledged, and what failed and so may be done or not.
    """
    done = {"appended": [], "deleted": [], "updated": 0}
    failed = {"appended": [], "deleted": [], "updated": 0}
    errors = []
    end = time.monotonic() + seconds
    key = first

    def attempt(kind, value, act):
        try:
            act()
            outcome = done
        except Exception as error:
            outcome = failed
            errors.append(f"{kind}: {type(error).__name__}: {error}"[:300])
        if kind == "updated":
            outcome[kind] += 1
        else:
            outcome[kind].append(value)

    while time.monotonic() < end:
        row = pa.table({"id": pa.array([key], pa.int64()), "n": pa.array([0], pa.int64())})
        attempt("appended", key, lambda: lance.write_dataset(row, path, mode="append"))
        attempt("updated", 0, lambda: lance.dataset(path).update({"n": "n + 1"}, where="id = 0"))
        if key % 3 == 0:
            attempt("deleted", key, lambda: lance.dataset(path).delete(f"id = {key}"))
        key += 1
    return {"done": done, "failed": failed, "errors": errors}


def shallow_clone(path, target, version):
    lance.dataset(path).shallow_clone(target, version)


def initialize_mem_wal(path):
    lance.dataset(path).initialize_mem_wal()


def write_external_blobs(path, uris):
    """Writes blobs of version 2 that lie in files outside the table."""
    schema = pa.schema([lance.blob_field("b")])
    table = pa.table([lance.blob_array(uris)], schema=schema)
    lance.write_dataset(table, path, external_blob_mode="reference", allow_external_blob_outside_bases=True)


def replace_vectors(path, table):
    """Updates rows of equal `id`, so that an index keeps them by their stable ids, and brings its indexes up to date."""
    lance.dataset(path).merge_insert("id").when_matched_update_all().execute(table)
    lance.dataset(path).optimize.optimize_indices()
