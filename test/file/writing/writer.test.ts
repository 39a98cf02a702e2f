import { describe, expect, it } from "vitest";
import type {
  Column,
  DictionaryColumn,
  FixedColumn,
  Layout,
  VariableColumn,
} from "../../../src/arrow/columns/column.js";
import { decodeDictionary } from "../../../src/arrow/columns/dictionaries.js";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { InvalidInputError } from "../../../src/errors.js";
import type { FileColumn, FileVersion } from "../../../src/file/container/page.js";
import { openDataFile } from "../../../src/file/container/reader.js";
import { DataFileWriter, MAX_BARE_FILE_ROWS } from "../../../src/file/writing/writer.js";
import { Schema } from "../../../src/format/file.js";
import { readColumns } from "../dataFiles.js";
import { asDisk, MemoryDisk } from "../memoryDisk.js";
import { strings, textsOf } from "../textColumns.js";

const fileColumn = (layout: Layout, fieldId = 0): FileColumn => ({
  fieldId,
  path: `c${fieldId}`,
  layout,
  nullable: true,
  metadata: new Map(),
});
const INT64: Layout = { kind: "fixed", byteWidth: 8 };
const UTF8: Layout = { kind: "variable", offsetBits: 32, text: true };

const createWriter = (disk: MemoryDisk, layout: Layout): Promise<DataFileWriter> =>
  DataFileWriter.create(asDisk(disk), "/f", [fileColumn(layout)], Schema.create({}), "2.2");

async function writeColumns(
  layouts: readonly Layout[],
  batches: readonly (readonly Column[])[],
  version: FileVersion = "2.2",
) {
  const disk = new MemoryDisk();
  const columns = layouts.map(fileColumn);
  const writer = await DataFileWriter.create(asDisk(disk), "/f", columns, Schema.create({}), version);
  for (const batch of batches) await writer.write(batch, batch[0].length);
  const result = await writer.finish();
  const bytes = disk.files.get("/f")!;
  expect(result.byteLength).toBe(bytes.length);
  const handle = disk.handle("/f", bytes);
  const file = await openDataFile(handle, "/f");
  return { file, columns: await readColumns(handle, file, layouts), bytes };
}

function randomFixed(length: number, byteWidth: number): FixedColumn {
  const words = new Uint32Array(Math.ceil((length * byteWidth) / 4));
  let state = 88172645;
  for (let index = 0; index < words.length; index++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[index] = state;
  }
  const values = new Uint8Array(words.buffer, 0, length * byteWidth);
  return { kind: "fixed", byteWidth, length, validity: null, values };
}

describe("DataFileWriter", () => {
  it("cuts a large batch into pages of about 8 MiB and keeps its bytes", async () => {
    const big = randomFixed(2_500_000 / 2.5, 24);
    const { file, columns } = await writeColumns([{ kind: "fixed", byteWidth: 24 }], [[big]]);
    const pages = file.columns[0].pages;
    expect(pages.map((page) => page.rowCount).reduce((a, b) => a + b)).toBe(big.length);
    expect(pages.length).toBe(3);
    for (const page of pages) expect(page.rowCount * 24).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(Buffer.compare((columns[0] as FixedColumn).values, big.values)).toBe(0);
  });

  it("gathers small batches into few pages", async () => {
    const all = randomFixed(100_000, 8);
    const batches = Array.from({ length: 100 }, (_, index) => [sliceColumn(all, index * 1000, 1000)]);
    const { file, columns } = await writeColumns([INT64], batches);
    expect(file.columns[0].pages).toHaveLength(1);
    expect(Buffer.compare((columns[0] as FixedColumn).values, all.values)).toBe(0);
  });

  it("puts a value wider than a page in a page of its own", async () => {
    const texts = ["a", "b".repeat(9 << 20), "c", "d".repeat(5 << 20), "e".repeat(4 << 20), null];
    const { file, columns } = await writeColumns([UTF8], [[strings(texts)]]);
    expect(file.columns[0].pages.length).toBeGreaterThan(1);
    expect(textsOf(columns[0] as VariableColumn)).toEqual(texts);
  });

  it("holds a bounded number of bytes of many wide columns", async () => {
    const layouts = Array.from({ length: 60 }, () => ({ kind: "fixed", byteWidth: 1000 }) as const);
    const batch = layouts.map(() => randomFixed(200, 1000));
    const disk = new MemoryDisk();
    let accepted = 0;
    const sink = asDisk(disk);
    const create = sink.create.bind(sink);
    sink.create = async (path) => {
      const handle = await create(path);
      return {
        ...handle,
        write: (chunks) => {
          for (const chunk of chunks) accepted += chunk.length;
          return handle.write(chunks);
        },
      };
    };
    const writer = await DataFileWriter.create(sink, "/f", layouts.map(fileColumn), Schema.create({}), "2.2");
    let handedBytes = 0;
    for (let round = 0; round < 10; round++) {
      await writer.write(batch, 200);
      handedBytes += 60 * 200 * 1000;
      expect(handedBytes - accepted).toBeLessThan(48 * 1024 * 1024);
    }
    await writer.abort();
  });

  it("does not write into, nor keep views of, a small part of a large buffer", async () => {
    const large = randomFixed(1 << 20, 8);
    const part = sliceColumn(large, 100, 1000);
    const disk = new MemoryDisk();
    const writer = await createWriter(disk, INT64);
    const before = part.values.slice();
    await writer.write([part], 1000);
    // The row is already copied, so a change now goes unseen.
    large.values.fill(0);
    await writer.finish();
    const handle = disk.handle("/f", disk.files.get("/f")!);
    const file = await openDataFile(handle, "/f");
    const [page] = await readColumns(handle, file, [INT64]);
    expect(Buffer.compare((page as FixedColumn).values, before)).toBe(0);
  });

  it("refuses more rows than a file may hold", async () => {
    const disk = new MemoryDisk();
    const writer = await createWriter(disk, { kind: "null" });
    await writer.write([{ kind: "null", length: MAX_BARE_FILE_ROWS, validity: null }], MAX_BARE_FILE_ROWS);
    await expect(writer.write([{ kind: "null", length: 1, validity: null }], 1)).rejects.toThrow();
    await writer.abort();
  });

  it("throws the errors of the disk, and abort removes the file", async () => {
    for (const capacity of [0, 100, 3 << 20, 9 << 20]) {
      const disk = new MemoryDisk();
      disk.capacity = capacity;
      const writer = await createWriter(disk, INT64);
      const all = randomFixed(1_000_000, 8);
      const run = async () => {
        for (let part = 0; part < 4; part++)
          await writer.write([sliceColumn(all, part * 250_000, 250_000)], 250_000);
        await writer.finish();
      };
      if (capacity > 8 << 20) await run();
      else await expect(run()).rejects.toThrow("ENOSPC");
      await writer.abort();
      expect([...disk.files.keys()]).toEqual([]);
    }
  });

  it("writes equal rows as equal bytes, whatever the slots of nulls hold", async () => {
    const validity = { bytes: new Uint8Array(125).fill(0x5d), bitOffset: 0, nullCount: 375 };
    const make = (seed: number): Column[] => {
      const fixed = randomFixed(1000, 8);
      const garbage = fixed.values.slice();
      for (let row = 0; row < 1000; row++) {
        if (((0x5d >> (row & 7)) & 1) === 0) garbage.fill(seed, row * 8, row * 8 + 8);
      }
      return [{ ...fixed, values: garbage, validity }];
    };
    const first = await writeColumns([INT64], [make(1)]);
    const second = await writeColumns([INT64], [make(2)]);
    expect(Buffer.compare(first.bytes, second.bytes)).toBe(0);
  });
});

describe.each(["2.1", "2.2"] as const)("dictionary-typed columns in version %s", (version) => {
  const indexColumn = (indices: readonly number[], byteWidth: 1 | 2 | 4 | 8): FixedColumn => {
    const values = new Uint8Array(indices.length * byteWidth);
    indices.forEach((index, row) => {
      values[row * byteWidth] = index;
      if (byteWidth > 1) values[row * byteWidth + 1] = index >> 8;
    });
    return { kind: "fixed", byteWidth, length: indices.length, validity: null, values };
  };
  const layout = (byteWidth: number): Layout => ({
    kind: "dictionary",
    index: { kind: "fixed", byteWidth },
    indexSigned: true,
    value: { kind: "variable", offsetBits: 32, text: true },
  });
  const make = (
    indices: readonly number[],
    dictionary: VariableColumn,
    byteWidth: 1 | 2 | 4 | 8,
  ): DictionaryColumn => ({
    kind: "dictionary",
    length: indices.length,
    validity: null,
    indices: indexColumn(indices, byteWidth),
    dictionary,
  });
  const valuesOf = (column: Column) =>
    textsOf(decodeDictionary(column as DictionaryColumn) as VariableColumn);

  for (const byteWidth of [1, 2, 4, 8] as const) {
    it(`keep their values with indices of ${byteWidth} bytes, nulls in slots and in the dictionary`, async () => {
      const dictionary = strings(["red", null, "", "green"]);
      const indices = Array.from({ length: 2500 }, (_, row) => (row * 7) % 4);
      const column = make(indices, dictionary, byteWidth);
      const bits = new Uint8Array(313).fill(0xdf);
      const withNulls = { ...column, validity: { bytes: bits, bitOffset: 3, nullCount: 312 } };
      for (const source of [column, withNulls]) {
        const { columns } = await writeColumns([layout(byteWidth)], [[source]], version);
        expect(valuesOf(columns[0])).toEqual(valuesOf(source));
      }
    });
  }

  it("share a page until the dictionary changes", async () => {
    const batches = [
      [make([0, 1, 0], strings(["a", "b"]), 4)],
      [make([1, 1, 0], strings(["a", "b"]), 4)],
      [make([1, 2, 0], strings(["x", "a", "z"]), 4)],
    ];
    const { file, columns } = await writeColumns([layout(4)], batches, version);
    expect(file.columns[0].pages.map((page) => page.rowCount)).toEqual([6, 3]);
    expect(valuesOf(columns[0])).toEqual(["a", "b", "a", "b", "b", "a", "a", "z", "x"]);
  });

  it("refuse indices outside their dictionary", async () => {
    await expect(
      writeColumns([layout(1)], [[make([0, 2], strings(["a", "b"]), 1)]], version),
    ).rejects.toThrow(InvalidInputError);
  });
});

describe.each(["2.1", "2.2"] as const)("nested fixed-size lists in version %s", (version) => {
  const validity = (length: number, modulus: number) => {
    const bytes = new Uint8Array(Math.ceil(length / 8));
    let nullCount = 0;
    for (let index = 0; index < length; index++) {
      if (index % modulus === 1) nullCount++;
      else bytes[index >> 3] |= 1 << (index & 7);
    }
    return { bytes, bitOffset: 0, nullCount };
  };

  for (const [inner, outer] of [
    [3, 2],
    [50, 5],
  ]) {
    for (const nulls of ["none", "rows", "lists", "items", "all kinds"]) {
      it(`of ${outer} × ${inner} floats are read back, nulls: ${nulls}`, async () => {
        const rows = 700;
        const has = (kind: string) => nulls === kind || nulls === "all kinds";
        const items = randomFixed(rows * outer * inner, 4);
        const column: Column = {
          kind: "fixedSizeList",
          dimension: outer,
          length: rows,
          validity: has("rows") ? validity(rows, 5) : null,
          items: {
            kind: "fixedSizeList",
            dimension: inner,
            length: rows * outer,
            validity: has("lists") ? validity(rows * outer, 7) : null,
            items: { ...items, validity: has("items") ? validity(items.length, 11) : null },
          },
        };
        const layout: Layout = {
          kind: "fixedSizeList",
          dimension: outer,
          item: { kind: "fixedSizeList", dimension: inner, item: { kind: "fixed", byteWidth: 4 } },
        };
        const { columns } = await writeColumns([layout], [[column]], version);
        expect(canonical(columns[0])).toEqual(canonical(column));
      });
    }
  }

  it("of bits are read back", async () => {
    const rows = 1500;
    const bits = randomFixed(rows * 9, 1).values;
    const column: Column = {
      kind: "fixedSizeList",
      dimension: 9,
      length: rows,
      validity: validity(rows, 3),
      items: { kind: "bits", length: rows * 9, validity: validity(rows * 9, 4), bits, bitOffset: 5 },
    };
    const layout: Layout = { kind: "fixedSizeList", dimension: 9, item: { kind: "bits" } };
    const { columns } = await writeColumns([layout], [[column]], version);
    expect(canonical(columns[0])).toEqual(canonical(column));
  });
});

/** A list column as plain values, null rows and items as null. */
function canonical(column: Column): unknown[] {
  const valid = (row: number) => {
    if (column.validity === null) return true;
    const bit = column.validity.bitOffset + row;
    return ((column.validity.bytes[bit >> 3] >> (bit & 7)) & 1) === 1;
  };
  const value = (row: number): unknown => {
    if (column.kind === "fixed") {
      return Buffer.from(
        column.values.subarray(row * column.byteWidth, (row + 1) * column.byteWidth),
      ).toString("hex");
    }
    if (column.kind === "bits")
      return (column.bits[(column.bitOffset + row) >> 3] >> ((column.bitOffset + row) & 7)) & 1;
    throw new Error(`unexpected ${column.kind}`);
  };
  if (column.kind === "fixedSizeList") {
    const items = canonical(column.items);
    return Array.from({ length: column.length }, (_, row) =>
      valid(row) ? items.slice(row * column.dimension, (row + 1) * column.dimension) : null,
    );
  }
  return Array.from({ length: column.length }, (_, row) => (valid(row) ? value(row) : null));
}
