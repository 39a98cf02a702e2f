/** Orders the rows that a search found, which are in memory already, by the keys of the query. */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { runAsync } from "../../async/eventLoop.js";
import { UnsupportedError } from "../../errors.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { RowNumbers } from "../columns/systemColumns.js";
import type { ScanRequest } from "../scan/scan.js";
import { readRowsAtAddresses } from "../scan/take.js";
import type { Order } from "./order.js";
import { orderOfRows } from "./orderOfRows.js";
import { makeSortKeys } from "./sortKeys.js";

/** Maximum number of found rows that are sorted. */
const MAX_SORTED = 2 ** 20;
/** Rows whose keys are read at once. */
const KEY_ROWS = 8192;

/** Request of {@link orderOfFound}. */
export interface FoundOrderRequest extends Pick<ScanRequest, "fragments" | "signal"> {
  readonly order: Order;
  readonly numbers: RowNumbers;
}

/**
 * Returns the indexes of found rows in the order of their keys. Rows with equal keys keep their order.
 * @param addresses of the rows, in the order of the search
 * @throws UnsupportedError for too many rows
 */
export async function orderOfFound(
  source: FragmentSource,
  { fragments, order, numbers, signal }: FoundOrderRequest,
  addresses: FixedColumn,
): Promise<Uint32Array> {
  const { length } = addresses;
  if (length === 0) return new Uint32Array(0);
  if (length > MAX_SORTED) {
    throw new UnsupportedError(`orderBy: a search sorts at most ${MAX_SORTED} rows, not ${length}`);
  }
  const { sources, projection } = order.ofKeys;
  const parts: Column[][] = [];
  for (let start = 0; start < length; start += KEY_ROWS) {
    const some = sliceColumn(addresses, start, Math.min(KEY_ROWS, length - start));
    const { columns } = await readRowsAtAddresses(source, { fragments, projection, signal }, some);
    const keys: Column[] = [];
    for (const key of sources) {
      if (key.kind === "stored") keys.push(plainColumn(columns[key.output]));
      if (key.kind === "system") keys.push(await numbers.column(key.which, some));
    }
    parts.push(keys);
  }
  const columns = sources.map((_, index) => concatColumns(parts.map((keys) => keys[index])));
  const keys = await runAsync(makeSortKeys(order.keys, columns, length), signal);
  return runAsync(orderOfRows(keys), signal);
}
