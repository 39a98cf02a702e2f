/** Writes Arrow tables to data files, and reads them back, for tests. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import type { Column, Layout } from "../../src/arrow/columns/column.js";
import { concatColumns } from "../../src/arrow/columns/concatColumns.js";
import { eventsPerValue, mergeSpines, pruneColumn, spinesOf } from "../../src/arrow/columns/spine.js";
import { makeBatch, toTable } from "../../src/arrow/exchange/batch.js";
import { columnFromData } from "../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../src/arrow/types/layouts.js";
import type { FileColumn, FileVersion } from "../../src/file/container/page.js";
import { countedByRows, type DataFileMetadata, openDataFile } from "../../src/file/container/reader.js";
import { decodePage } from "../../src/file/pages/decodePage.js";
import { DataFileWriter } from "../../src/file/writing/writer.js";
import { Field as FileField, Schema as FileSchema } from "../../src/format/file.js";
import type { Disk, ReadHandle } from "../../src/io/disk/disk.js";
import { asDisk, MemoryDisk } from "./memoryDisk.js";
import { readPageBuffers } from "./pageBuffers.js";

export function fileColumns(schema: Schema): FileColumn[] {
  return schema.fields
    .flatMap((field) =>
      spinesOf(layoutOf(field.type, field.name)).map(({ layout }) => ({
        layout,
        path: field.name,
        nullable: field.nullable,
        metadata: field.metadata,
      })),
    )
    .map((column, fieldId) => ({ fieldId, ...column }));
}

/** Suffices for files that only these tests read. */
const descriptorOf = (schema: Schema): FileSchema =>
  FileSchema.create({
    fields: schema.fields.map(({ name, nullable }, id) =>
      FileField.create({ id, parentId: -1, name, nullable }),
    ),
  });

export function columnsOf(batch: RecordBatch): Column[] {
  return batch.data.children.flatMap((data, index) => {
    const { type, name } = batch.schema.fields[index];
    const column = columnFromData(data, layoutOf(type, name));
    return spinesOf(layoutOf(type, name)).map(({ layout, path: branch }) =>
      pruneColumn(column, branch, layout),
    );
  });
}

/** Writes a table batch by batch; resolves to the file's size. */
export async function writeTable(
  disk: Disk,
  path: string,
  table: Table,
  version: FileVersion,
  descriptor = descriptorOf(table.schema),
): Promise<number> {
  const writer = await DataFileWriter.create(disk, path, fileColumns(table.schema), descriptor, version);
  for (const batch of table.batches) await writer.write(columnsOf(batch), batch.numRows);
  const { byteLength, rowCount } = await writer.finish();
  if (rowCount !== table.numRows) throw new Error(`${rowCount} rows written of ${table.numRows}`);
  return byteLength;
}

export async function tableToFile(table: Table, version: FileVersion): Promise<Uint8Array> {
  const disk = new MemoryDisk();
  await writeTable(asDisk(disk), "/t.lance", table, version);
  return disk.files.get("/t.lance")!;
}

export async function readColumns(
  handle: ReadHandle,
  file: DataFileMetadata,
  layouts: readonly Layout[],
): Promise<Column[]> {
  // Pages of 2.0 count the values of their own column.
  const { columns } =
    file.version === "2.0"
      ? file
      : countedByRows(
          file,
          layouts.map((layout, columnIndex) => ({ columnIndex, valuesPerRow: eventsPerValue(layout) })),
        );
  const requests = layouts.map((_, columnIndex) => ({
    columnIndex,
    pageIndexes: file.columns[columnIndex].pages.map((_page, index) => index),
  }));
  const buffers = await readPageBuffers(handle, file, requests);
  return layouts.map((layout, columnIndex) =>
    concatColumns(
      columns[columnIndex].pages.map((page, index) => {
        const origin = { path: file.path, byteOffset: page.bufferRanges[0]?.byteOffset ?? 0 };
        return decodePage(layout, page.layout, page.rowCount, buffers[columnIndex][index], origin);
      }),
    ),
  );
}

export async function fileToTable(bytes: Uint8Array, schema: Schema): Promise<Table> {
  const handle = new MemoryDisk().handle("/t.lance", bytes);
  const file = await openDataFile(handle, "/t.lance");
  const layouts = fileColumns(schema).map((column) => column.layout);
  if (file.rowCount === 0) return toTable(schema, []);
  const read = await readColumns(handle, file, layouts);
  let next = 0;
  const columns = schema.fields.map((field) => {
    const layout = layoutOf(field.type, field.name);
    const first = next;
    next += spinesOf(layout).length;
    return mergeSpines(layout, read.slice(first, next), file.rowCount, "/t.lance");
  });
  return toTable(schema, [makeBatch(schema, columns, file.rowCount)]);
}

/** Names the layout of each page of a column: "constant", "fullZip", "miniBlock/inlineBitpacking" … */
export async function pageKinds(bytes: Uint8Array, columnIndex: number): Promise<string[]> {
  const handle = new MemoryDisk().handle("/t.lance", bytes);
  const file = await openDataFile(handle, "/t.lance");
  return file.columns[columnIndex].pages.map(({ layout }) => {
    const compression = layout.miniBlock?.valueCompression ?? layout.fullZip?.valueCompression;
    const structure = layout.miniBlock ? "miniBlock" : layout.fullZip ? "fullZip" : "constant";
    const name = Object.entries(compression ?? {}).find(([, value]) => value !== undefined)?.[0];
    const dictionary = layout.miniBlock?.dictionary ? "+dictionary" : "";
    return name === undefined ? structure : `${structure}/${name}${dictionary}`;
  });
}
