/** Arrow tables to data files and back, for tests. */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import { makeBatch, toTable } from "../../src/arrow/batch.js";
import type { Column } from "../../src/arrow/column.js";
import { columnFromData, concatColumns } from "../../src/arrow/data.js";
import { layoutOf } from "../../src/arrow/types.js";
import type { FileColumn, FileVersion } from "../../src/file/page.js";
import { openDataFile, readPages } from "../../src/file/reader.js";
import { DataFileWriter } from "../../src/file/writer.js";
import { Field as FileField, Schema as FileSchema } from "../../src/format/file.js";
import type { Disk } from "../../src/io/disk.js";
import { asDisk, MemoryDisk } from "./memoryDisk.js";

export function fileColumns(schema: Schema): FileColumn[] {
  return schema.fields.map((field, fieldId) => ({
    fieldId,
    path: field.name,
    layout: layoutOf(field.type, field.name),
    nullable: field.nullable,
    metadata: field.metadata,
  }));
}

/** Good enough for files that are only read here. */
const descriptorOf = (schema: Schema): FileSchema =>
  FileSchema.create({
    fields: schema.fields.map(({ name, nullable }, id) =>
      FileField.create({ id, parentId: -1, name, nullable }),
    ),
  });

export function columnsOf(batch: RecordBatch): Column[] {
  return batch.data.children.map((data, index) =>
    columnFromData(data, layoutOf(batch.schema.fields[index].type, batch.schema.fields[index].name)),
  );
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

/** All rows of a file, decoded by the schema they were written with. */
export async function fileToTable(bytes: Uint8Array, schema: Schema): Promise<Table> {
  const handle = new MemoryDisk().handle("/t.lance", bytes);
  const file = await openDataFile(handle, "/t.lance");
  const layouts = fileColumns(schema).map((column) => column.layout);
  const requests = layouts.map((layout, columnIndex) => ({
    columnIndex,
    layout,
    pageIndexes: file.columns[columnIndex].pages.map((_, index) => index),
  }));
  if (file.rowCount === 0) return toTable(schema, []);
  const pages = await readPages(handle, file, requests);
  const columns = pages.map((parts) => concatColumns(parts));
  return toTable(schema, [makeBatch(schema, columns, file.rowCount)]);
}

/** What each page of a column is, in short: "constant", "fullZip", "miniBlock/inlineBitpacking" … */
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
