/** Makes rows with one int32 column, `v`. */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";

export const rowsOf = (...values: readonly number[]): Table =>
  new Table({ v: vectorFromArray(values, new Int32()) });

/** Encodes the rows as an IPC stream. */
export const ipcOf = (...values: readonly number[]): Uint8Array => tableToIPC(rowsOf(...values));

export const valuesOf = (table: Table): number[] => Array.from(table.getChild("v") ?? [], Number);
