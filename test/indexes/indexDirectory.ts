/** A directory with index files, built from rows in memory. */

import { join } from "node:path";
import type { Column } from "../../src/arrow/columns/column.js";
import { concatColumns } from "../../src/arrow/columns/concatColumns.js";
import { sliceColumn } from "../../src/arrow/columns/sliceColumn.js";
import { takeColumn } from "../../src/arrow/columns/takeColumn.js";
import { isValid } from "../../src/arrow/columns/validity.js";
import type { LogicalType } from "../../src/arrow/types/type.js";
import type { FileVersion } from "../../src/file/container/page.js";
import { openDataFile } from "../../src/file/container/reader.js";
import { uint64Column } from "../../src/indexes/indexColumns.js";
import type { IndexFiles, IndexPart, IndexRows, IndexTarget } from "../../src/indexes/kind.js";
import { HandlePool } from "../../src/io/disk/handles.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { LruCache } from "../../src/io/memory/cache.js";
import { ScratchMemory } from "../../src/io/memory/scratch.js";
import { TemporaryFile } from "../../src/io/temporaryFile.js";
import type { TableField } from "../../src/schema/schema.js";
import { columnOf, compareKeys, idWords, sortKey, type Value } from "./indexValues.js";

const MIB = 2 ** 20;

export const disk = new NodeDisk({ durability: "none" });

/** Opens the files of a directory; the caller closes the handles. */
export function filesIn(directory: string, partBytes = 64 * MIB): IndexFiles & { close(): Promise<void> } {
  const handles = new HandlePool(disk);
  return {
    open: (name) => {
      const path = join(directory, name);
      return handles.withHandle(path, (handle) => openDataFile(handle, path));
    },
    has: async (name) => (await disk.stat(join(directory, name))) !== null,
    names: async () => ((await disk.list(directory)) ?? []).map(({ name }) => name),
    source: {
      handles,
      chunkMaps: new LruCache(MIB),
      pageChecks: new LruCache(MIB),
      scratch: new ScratchMemory(MIB),
    },
    parts: new LruCache<IndexPart>(partBytes),
    close: async () => handles.close(),
  };
}

export function targetOf(
  directory: string,
  field: TableField,
  parameters: Readonly<Record<string, unknown>> = {},
  fileVersion: FileVersion = "2.2",
): IndexTarget {
  const temporaryFile = () => TemporaryFile.create(disk, directory);
  return { disk, directory, fileVersion, field, sort: sortInMemory, temporaryFile, parameters, rowCount: 0 };
}

const BATCH_ROWS = 1000;

export async function* rowsOf(
  type: LogicalType,
  values: readonly Value[],
  ids: readonly bigint[],
  batchRows = BATCH_ROWS,
): AsyncGenerator<IndexRows, void, undefined> {
  yield* batchesOf(columnOf(type, values), uint64Column(idWords(ids)), batchRows);
}

export async function* batchesOf(
  values: Column,
  ids: Column,
  batchRows = BATCH_ROWS,
): AsyncGenerator<IndexRows, void, undefined> {
  for (let start = 0; start < values.length; start += batchRows) {
    const rowCount = Math.min(batchRows, values.length - start);
    yield {
      values: sliceColumn(values, start, rowCount),
      ids: sliceColumn(ids, start, rowCount),
      rowCount,
    };
  }
}

async function* sortInMemory(
  rows: AsyncIterable<IndexRows>,
  type: LogicalType,
): AsyncGenerator<IndexRows, void, undefined> {
  const batches: IndexRows[] = [];
  for await (const batch of rows) batches.push(batch);
  if (batches.length === 0) return;
  const values = concatColumns(batches.map((batch) => batch.values));
  const ids = concatColumns(batches.map((batch) => batch.ids));
  const keys = bytesOfValues(values).map((value) => (value === null ? null : sortKey(type, value)));
  const order = Uint32Array.from(keys.keys()).sort((a, b) => {
    const left = keys[a];
    const right = keys[b];
    if (left === null || right === null) return Number(left !== null) - Number(right !== null) || a - b;
    return compareKeys(left, right) || a - b;
  });
  yield* batchesOf(takeColumn(values, order), takeColumn(ids, order));
}

export function bytesOfValues(column: Column): Value[] {
  return Array.from({ length: column.length }, (_, row) => {
    if (!isValid(column.validity, row)) return null;
    switch (column.kind) {
      case "bits":
        return Uint8Array.of(
          (column.bits[(column.bitOffset + row) >>> 3] >>> ((column.bitOffset + row) & 7)) & 1,
        );
      case "fixed":
        return column.values.slice(row * column.byteWidth, (row + 1) * column.byteWidth);
      case "variable":
        return column.bytes.slice(Number(column.offsets[row]), Number(column.offsets[row + 1]));
      default:
        throw new Error(`values in a column of kind ${column.kind}`);
    }
  });
}
