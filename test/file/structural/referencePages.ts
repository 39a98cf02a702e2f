/** Reads data files of the reference page by page, without a table's manifest. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Field, makeData, RecordBatch, type Schema, Struct, Table, tableFromIPC } from "apache-arrow";
import { dataFromColumn } from "../../../src/arrow/exchange/dataFromColumn.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { type DataFileMetadata, openDataFile } from "../../../src/file/container/reader.js";
import type { ReadHandle } from "../../../src/io/disk/disk.js";
import { readColumns } from "../dataFiles.js";

export function memoryHandle(path: string, bytes: Uint8Array): ReadHandle {
  return {
    path,
    size: bytes.length,
    identity: path,
    read: async (byteOffset, length) => {
      const copy = new Uint8Array(length);
      copy.set(bytes.subarray(byteOffset, byteOffset + length));
      return copy;
    },
    close: async () => {},
  };
}

/** Paths of a table's data files, in no order. */
export function dataFilePaths(directory: string, name: string): string[] {
  const data = join(directory, `${name}.lance`, "data");
  return readdirSync(data)
    .filter((entry) => entry.endsWith(".lance"))
    .map((entry) => join(data, entry));
}

export async function openFromMemory(path: string): Promise<{ handle: ReadHandle; file: DataFileMetadata }> {
  const handle = memoryHandle(path, new Uint8Array(readFileSync(path)));
  return { handle, file: await openDataFile(handle, path) };
}

/** Reads all rows of a data file whose columns are those of `schema`, in order. */
export async function readDataFile(path: string, schema: Schema): Promise<Table> {
  const { handle, file } = await openFromMemory(path);
  const layouts = schema.fields.map((field: Field) => layoutOf(field.type, field.name));
  const columns = await readColumns(handle, file, layouts);
  const children = columns.map((column, index) => dataFromColumn(schema.fields[index].type, column));
  const data = makeData({ type: new Struct(schema.fields), length: file.rowCount, nullCount: 0, children });
  return new Table(schema, [new RecordBatch(schema, data)]);
}

export const schemaOfIpc = (ipc: Uint8Array): Schema => tableFromIPC(ipc).schema;

/** Names the layouts and compressions of each column of a file. */
export function encodingsOf(file: DataFileMetadata): string[] {
  return file.columns.map((column) =>
    [...new Set(column.pages.map((page) => outline(page.layout)))].sort().join(" | "),
  );
}

function outline(value: unknown): string {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return "";
  if (Array.isArray(value)) return "";
  return Object.entries(value)
    .filter(([, member]) => typeof member === "object" && member !== null && !(member instanceof Uint8Array))
    .filter(([, member]) => !Array.isArray(member))
    .map(([name, member]) => {
      const inner = outline(member);
      return inner === "" ? name : `${name}(${inner})`;
    })
    .join(", ");
}
