"""Writes the files of this directory: Arrow IPC of other programs, with types that apache-arrow does not write, and its rows as JSON.

    pip install numpy polars pyarrow && python write.py
"""

import io
import json
import pathlib

import numpy
import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc

HERE = pathlib.Path(__file__).parent
LONG = "a value of more than twelve bytes "

TEXTS = ["", "short", "twelve bytes", "thirteenbytes", None, LONG + "1", LONG + "2", "こんにちは世界, hello", None, "é"]
BINARIES = [None if text is None else text.encode()[:-1] + b"\xff\x00" for text in TEXTS]


def write(name, content, expected=None):
    (HERE / name).write_bytes(content)
    if expected is not None:
        (HERE / f"{name.split('.')[0].removesuffix('_lz4').removesuffix('_zstd')}.rows").write_text(json.dumps(expected, ensure_ascii=False))


def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def stream_of(schema, batches, **options):
    sink = io.BytesIO()
    with ipc.new_stream(sink, schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def polars_files():
    frame = pl.DataFrame(
        {
            "number": list(range(10)),
            "text": TEXTS,
            "binary": BINARIES,
            "category": pl.Series([LONG, "b", None, "b", LONG, "c", "c", "c", "b", LONG], dtype=pl.Categorical),
            "choice": pl.Series(["no", "yes", None, "yes", "no"] * 2, dtype=pl.Enum(["no", "yes"])),
            "texts": [[text, LONG] if index % 3 else None for index, text in enumerate(TEXTS)],
            "record": [{"name": text, "count": index} for index, text in enumerate(TEXTS)],
            "pair": pl.Series([["x", LONG]] * 10, dtype=pl.List(pl.String)),
        }
    )
    rows = plain(frame.to_dicts())
    for codec in ["uncompressed", "lz4", "zstd"]:
        compression = "" if codec == "uncompressed" else f"_{codec}"
        sink = io.BytesIO()
        frame.write_ipc(sink, compression=codec)
        write(f"polars{compression}.arrow", sink.getvalue(), rows)
        sink = io.BytesIO()
        frame.write_ipc_stream(sink, compression=codec)
        write(f"polars{compression}.arrows", sink.getvalue(), rows)
    sink = io.BytesIO()
    sliced = frame[3:8]
    sliced.write_ipc_stream(sink, compression="uncompressed")
    write("polars_slice.arrows", sink.getvalue(), plain(sliced.to_dicts()))


def pyarrow_files():
    text = pa.array(TEXTS, pa.string_view())
    binary = pa.array(BINARIES, pa.binary_view())
    texts = pa.ListArray.from_arrays(pa.array([0, 2, 2, None, 10], pa.int32()), text)
    columns = {
        "text": text,
        "binary": binary,
        "record": pa.StructArray.from_arrays([text, binary], ["text", "binary"]),
        "coded": pa.DictionaryArray.from_arrays(pa.array([9, 8, 7, 6, None, 4, 3, 2, 1, 0], pa.int8()), text),
    }
    batch = pa.record_batch(columns)
    rows = plain(batch.to_pylist())
    write("pyarrow_views.arrows", stream_of(batch.schema, [batch.slice(0, 3), batch.slice(3)]), rows)
    lists = pa.record_batch({"texts": texts})
    write("pyarrow_texts.arrows", stream_of(lists.schema, [lists]), plain(lists.to_pylist()))
    for codec in ["lz4", "zstd"]:
        content = stream_of(batch.schema, [batch], compression=codec)
        write(f"pyarrow_views_{codec}.arrows", content, rows)
    sink = io.BytesIO()
    with ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    write("pyarrow_views.arrow", sink.getvalue(), rows)

    items = pa.array([1, None, 3, 4, 5], pa.int32())
    mask = pa.array([False, True, False, False, False])
    for name, kind, offset in [
        ("list_view", pa.ListViewArray, pa.int32()),
        ("large_list_view", pa.LargeListViewArray, pa.int64()),
    ]:
        def views(values):
            return kind.from_arrays(pa.array([3, 0, 0, 1, 5], offset), pa.array([2, 4, 0, 3, 0], offset), values, mask=mask)

        batch = pa.record_batch(
            {
                "before": pa.array(range(5), pa.int16()),
                "numbers": views(items),
                "texts": views(text[2:7]),
                "nested": views(views(items)),
                "record": pa.StructArray.from_arrays([views(items), text[:5]], ["numbers", "text"]),
                "after": text[5:],
            }
        )
        rows = plain(batch.to_pylist())
        write(f"pyarrow_{name}.arrows", stream_of(batch.schema, [batch.slice(0, 1), batch.slice(1)]), rows)
        write(f"pyarrow_{name}_zstd.arrows", stream_of(batch.schema, [batch], compression="zstd"), rows)
        sink = io.BytesIO()
        with ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        write(f"pyarrow_{name}.arrow", sink.getvalue(), rows)


def nested_list_view_files():
    """List views of every kind of item: in any order, over each other, with gaps, and with nulls that point outside."""
    offsets, sizes = [6, 0, 99, 2, 5, 0], [2, 3, -7, 6, 0, 1]
    mask = pa.array([False, False, True, False, False, False])

    def views(values, kind=pa.ListViewArray, offset=pa.int32()):
        return kind.from_arrays(pa.array(offsets, offset), pa.array(sizes, offset), values, mask=mask)

    numbers = pa.array([0, 1, None, 3, 4, 5, 6, 7], pa.int64())
    words = pa.array(["a", None, LONG, "ä", "", "b", LONG, "c"])
    inner = pa.ListViewArray.from_arrays(pa.array([4, 0, 3, 0, 6, 1, 0, 7], pa.int32()), pa.array([4, 8, 0, 1, 2, 5, 8, 1], pa.int32()), numbers)
    six = views(numbers)
    columns = {
        "texts": views(words),
        "large": views(words.cast(pa.large_string()), pa.LargeListViewArray, pa.int64()),
        "bits": views(pa.array([True, False, None, True, True, False, False, True])),
        "codes": views(words.dictionary_encode()),
        "vectors": views(pa.FixedSizeListArray.from_arrays(pa.array([value / 2 for value in range(16)], pa.float32()), 2)),
        "records": views(pa.StructArray.from_arrays([numbers, words.cast(pa.string_view())], ["number", "word"])),
        "views": views(inner, pa.LargeListViewArray, pa.int64()),
        "lists": pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 5, 6, 6], pa.int32()), six),
        "record": pa.StructArray.from_arrays([six, views(inner)], ["few", "views"], mask=pa.array([True] + [False] * 5)),
        "map": pa.MapArray.from_arrays(pa.array([0, 1, 2, 2, 4, 5, 6], pa.int32()), pa.array(list("uvwxyz")), six),
        "nothing": views(pa.nulls(8)),
    }
    batch = pa.record_batch(columns)
    rows = plain(batch.to_pylist(maps_as_pydicts="strict"))
    write("pyarrow_list_view_nested.arrows", stream_of(batch.schema, [batch.slice(0, 2), batch.slice(2)]), rows)
    write("pyarrow_list_view_nested_lz4.arrows", stream_of(batch.schema, [batch], compression="lz4"), rows)
    sink = io.BytesIO()
    with ipc.new_file(sink, batch.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch.slice(0, 4))
        writer.write_batch(batch.slice(4))
    write("pyarrow_list_view_nested_zstd.arrow", sink.getvalue(), rows)


def unsupported_files():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
    union = pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])])
    interval = pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval())
    for name, column in [("runs", runs), ("union", union), ("interval", interval)]:
        batch = pa.record_batch({"outer": pa.StructArray.from_arrays([column], [name])})
        write(f"pyarrow_{name}.arrows", stream_of(batch.schema, [batch]))
        sink = io.BytesIO()
        with ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        write(f"pyarrow_{name}.arrow", sink.getvalue())
    sink = pa.BufferOutputStream()
    ipc.write_tensor(pa.Tensor.from_numpy(numpy.arange(4)), sink)
    write("pyarrow_tensor.arrows", sink.getvalue().to_pybytes())


polars_files()
pyarrow_files()
nested_list_view_files()
unsupported_files()
