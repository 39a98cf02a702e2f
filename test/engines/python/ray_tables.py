"""Ray reads and writes Lance tables by lance-ray, in a cluster of two workers on this machine."""

from ray_cluster import start, stop  # noqa: F401, I001

import json

import lance
import lance_namespace
import lance_ray
import pyarrow as pa
import ray
from lance.fragment import FragmentMetadata, write_fragments

from frames import conform

ray.data.DataContext.get_current().enable_progress_bars = False


def by_rest(properties: dict[str, str], table_id: list[str]) -> dict:
    return {"namespace_impl": "rest", "namespace_properties": properties, "table_id": table_id}


def gathered(dataset: ray.data.Dataset, like: pa.Table) -> pa.Table:
    blocks = [block for block in ray.get(dataset.to_arrow_refs()) if block.num_rows > 0]
    return conform(pa.concat_tables(blocks), like) if blocks else like


def rows(source: dict, like: pa.Table, where: str | None = None) -> pa.Table:
    """Reads a table by a task for each of four groups of fragments."""
    columns = like.schema.names
    return gathered(
        lance_ray.read_lance(**source, columns=columns, filter=where, override_num_blocks=4), like
    )


def blocks(source: dict) -> int:
    """Number of pieces that tasks read."""
    return lance_ray.read_lance(**source, override_num_blocks=4).materialize().num_blocks()


def ids_by_kind(source: dict) -> dict[str, int]:
    groups = lance_ray.read_lance(**source, columns=["id", "kind"]).groupby("kind").sum("id")
    return {row["kind"]: row["sum(id)"] for row in groups.take_all()}


def write(source: dict, tables: list[pa.Table], mode: str) -> None:
    """Writes each table by a task of its own."""
    dataset = ray.data.from_arrow(tables)
    lance_ray.write_lance(dataset, **source, mode=mode, min_rows_per_file=1, max_rows_per_file=40)


def add_column(path: str) -> None:
    """Adds `twice`, computed by tasks fragment by fragment."""

    def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"twice": pa.compute.multiply(batch.column("id"), 2)})

    lance_ray.add_columns(path, transform=twice, read_columns=["id"], concurrency=2)


def compact(path: str) -> None:
    lance_ray.compact_files(path, num_workers=2)


def index(path: str, column: str) -> None:
    lance_ray.create_scalar_index(path, column=column, index_type="BTREE", num_workers=2)


@ray.remote(num_cpus=1)
def written(path: str, table: pa.Table) -> list[str]:
    return [json.dumps(fragment.to_json()) for fragment in write_fragments(table, path, mode="append")]


def fragments_of(path: str, tables: list[pa.Table]) -> list[str]:
    """First phase: tasks write the fragments, and nobody sees them yet."""
    return [
        fragment for task in ray.get([written.remote(path, table) for table in tables]) for fragment in task
    ]


def commit(
    path: str, fragments: list[str], read_version: int, properties: dict[str, str], table_id: list[str]
) -> int:
    """Second phase: one commit, which the server of the catalog makes a version."""
    operation = lance.LanceOperation.Append([FragmentMetadata.from_json(fragment) for fragment in fragments])
    return lance.LanceDataset.commit(
        path,
        operation,
        read_version=read_version,
        namespace_client=lance_namespace.connect("rest", properties),
        table_id=table_id,
        namespace_client_managed_versioning=True,
    ).version


@ray.remote(num_cpus=1)
def appended(path: str, table: pa.Table, properties: dict[str, str], table_id: list[str]) -> int:
    version = lance.dataset(path).version
    fragments = [json.dumps(fragment.to_json()) for fragment in write_fragments(table, path, mode="append")]
    return commit(path, fragments, version, properties, table_id)


def append_in_tasks(
    path: str, tables: list[pa.Table], properties: dict[str, str], table_id: list[str]
) -> list[int]:
    """Each task writes a fragment and commits it by itself, all at the same time."""
    return ray.get([appended.remote(path, table, properties, table_id) for table in tables])
