/** Makes rows with one int32 column, `v`. */

import { Table, tableToIPC } from "apache-arrow";
import { int32s } from "./arrowColumns.js";

export const rowsOf = (...values: readonly number[]): Table => new Table({ v: int32s(values) });

export const ipcOf = (...values: readonly number[]): Uint8Array => tableToIPC(rowsOf(...values));

export const valuesOf = (table: Table): number[] => Array.from(table.getChild("v") ?? [], Number);
