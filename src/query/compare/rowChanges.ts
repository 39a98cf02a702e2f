/**
 * Compares two versions of a table row by row: added, removed and changed rows, in the order of their keys.
 * Both versions are sorted by the key, in bounded memory, and read side by side:
 *
 *     old   3  4  7           3 and 9 differ in no column: nothing
 *     new   3  7* 9           4 removed, 7 changed, 9 added
 *
 * Only fragments that differ are read. Rows of a fragment that both versions have are the same in both.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { runAsync, type Steps } from "../../async/eventLoop.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { ReaderEnvironment } from "../indexes/versionSource.js";
import { compareRows, type SortKeys, sortKeys } from "../order/sortKeys.js";
import { type ComparedColumn, RowComparison } from "./comparedColumns.js";
import { differingFragments } from "./differingFragments.js";
import { type CompareOptions, Cursor, type KeyedRows, type RowKey, rowsByKey } from "./sortedRows.js";

/** A version and its fields. */
export interface ComparedVersion {
  readonly version: OpenVersion<ReaderEnvironment>;
  readonly fields: readonly TableField[];
}

/** Decodes the fields of a version. */
export const comparedVersion = (version: OpenVersion<ReaderEnvironment>): ComparedVersion => ({
  version,
  fields: decodeSchema(version.file.manifest.fields, version.path),
});

/** Versions to compare. */
export interface Comparison {
  readonly old: ComparedVersion;
  readonly current: ComparedVersion;
  readonly columns: readonly ComparedColumn[];
  readonly key: RowKey;
}

/** Kinds of changes. */
export const CHANGE = { added: 0, removed: 1, changed: 2 } as const;

/** Changed rows in the order of their keys. */
export interface RowChanges {
  /** One of {@link CHANGE} for each row. */
  readonly kinds: Uint8Array;
  /** Values after the change; of a removed row, those before it. */
  readonly rows: readonly Column[];
  /** Values of changed rows before the change; other rows have nulls. */
  readonly before: readonly Column[];
  readonly keys: SortKeys;
  readonly keyColumns: readonly Column[];
  readonly rowCount: number;
}

/** Number of rows that are compared between two turns of the event loop. */
const STEP_ROWS = 2048;

/** Yields the rows that differ, in the order of their keys. */
export async function* rowChanges(
  comparison: Comparison,
  options: CompareOptions,
): AsyncGenerator<RowChanges> {
  const { old, current, columns, key } = comparison;
  const compared = columns.filter((column) => column.old !== null).map(({ field }) => field);
  const [oldFragments, fragments] = await differingFragments(old.version, current.version, compared);
  const oldRead = {
    ...old,
    fragments: oldFragments,
    key: oldNames(columns, key),
    columns: columns.map((column) => ({ ...column, source: column.old })),
  };
  const read = {
    ...current,
    fragments,
    key,
    columns: columns.map((column) => ({ ...column, source: column.field })),
  };
  const left = new Cursor(rowsByKey(oldRead, options));
  const right = new Cursor(rowsByKey(read, options));
  try {
    await left.next();
    await right.next();
    while (left.batch !== null || right.batch !== null) {
      const matched = await runAsync(matchRows(left, right, columns), options.signal);
      if (matched.length > 0) yield await runAsync(changesOf(matched, left.batch, right.batch, columns));
      if (left.isOver) await left.next();
      if (right.isOver) await right.next();
    }
  } finally {
    await left.close();
    await right.close();
  }
}

/** Returns the names that the key columns have in the old version. */
function oldNames(columns: readonly ComparedColumn[], key: RowKey): RowKey {
  return key === null
    ? null
    : key.map((name) => columns.find(({ field }) => field.name === name)?.old?.name ?? name);
}

/** Changes in two batches: for each, its kind, and rows of the two batches; -1 for none. */
class MatchedRows {
  readonly kinds: number[] = [];
  readonly oldRows: number[] = [];
  readonly rows: number[] = [];

  get length(): number {
    return this.kinds.length;
  }

  add(kind: number, oldRow: number, row: number): void {
    this.kinds.push(kind);
    this.oldRows.push(oldRow);
    this.rows.push(row);
  }
}

/** Walks both batches until one of them is over. */
function* matchRows(
  left: Cursor<KeyedRows>,
  right: Cursor<KeyedRows>,
  columns: readonly ComparedColumn[],
): Steps<MatchedRows> {
  const matched = new MatchedRows();
  const comparison =
    left.batch && right.batch && new RowComparison(columns, left.batch.columns, right.batch.columns);
  for (let step = 1; !left.isOver && !right.isOver; step++) {
    if (step % STEP_ROWS === 0) yield;
    const order = orderOf(left, right);
    if (order < 0) matched.add(CHANGE.removed, left.row++, -1);
    else if (order > 0) matched.add(CHANGE.added, -1, right.row++);
    else {
      const [oldRow, row] = [left.row++, right.row++];
      if (comparison?.isEqual(oldRow, row) !== true) matched.add(CHANGE.changed, oldRow, row);
    }
  }
  return matched;
}

/** Negative if the old row comes first, or the other side has no more rows. */
function orderOf(left: Cursor<KeyedRows>, right: Cursor<KeyedRows>): number {
  if (right.batch === null) return -1;
  if (left.batch === null) return 1;
  return compareRows(left.batch.keys, left.row, right.batch.keys, right.row);
}

/** Takes the values of changed rows. */
function* changesOf(
  { kinds, oldRows, rows }: MatchedRows,
  old: KeyedRows | null,
  current: KeyedRows | null,
  columns: readonly ComparedColumn[],
): Steps<RowChanges> {
  const rowCount = kinds.length;
  const taken: Column[] = [];
  const before: Column[] = [];
  const noRow = (index: number) => nullColumn(columns[index].layout, 1);
  for (const index of columns.keys()) {
    const ofOld = old?.columns[index];
    const ofCurrent = current?.columns[index];
    taken.push(merged(ofCurrent, ofOld, rows, oldRows, noRow(index)));
    const changed = kinds.map((kind, row) => (kind === CHANGE.changed ? oldRows[row] : -1));
    before.push(merged(ofOld, undefined, changed, changed, noRow(index)));
    yield;
  }
  const { orders = [] } = current ?? old ?? {};
  const keyColumns = orders.map((_, index) => {
    const [ofOld, ofCurrent] = [old?.keyColumns[index], current?.keyColumns[index]];
    // Every change has a key on one side.
    return merged(ofCurrent, ofOld, rows, oldRows, null);
  });
  const keys = sortKeys(orders, keyColumns, rowCount);
  return { kinds: Uint8Array.from(kinds), rows: taken, before, keys, keyColumns, rowCount };
}

/**
 * For each `i`, takes row `first[i]` of `a`. If that is -1, takes row `second[i]` of `b`, or `none` if `b` is
 * undefined.
 */
function merged(
  a: Column | undefined,
  b: Column | undefined,
  first: readonly number[],
  second: readonly number[],
  none: Column | null,
): Column {
  const ofA = first.filter((row) => row >= 0);
  const ofB = b === undefined ? [] : second.filter((_, index) => first[index] < 0);
  const parts = [
    ...(a === undefined || ofA.length === 0 ? [] : [takeColumn(a, Uint32Array.from(ofA))]),
    ...(b === undefined || ofB.length === 0 ? [] : [takeColumn(b, Uint32Array.from(ofB))]),
  ];
  if (ofA.length === first.length || ofB.length === first.length) return parts[0];
  let [nextA, nextB] = [0, ofA.length];
  const nothing = ofA.length + ofB.length;
  const order = first.map((row) => (row >= 0 ? nextA++ : b === undefined ? nothing : nextB++));
  return takeColumn(concatColumns(none === null ? parts : [...parts, none]), Uint32Array.from(order));
}
