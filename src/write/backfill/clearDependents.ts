/**
 * Clears the values of dependent columns when a backfill changes their input. Only rows with a changed value
 * count: a row that had none, and was computed to be null, keeps its dependent values.
 */

import type { Layout } from "../../arrow/columns/column.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import { layoutOf } from "../../arrow/types/layouts.js";
import { arrowFieldFromLogical } from "../../arrow/types/logicalTypes.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { concatWords } from "../../bytes/concatWords.js";
import { col } from "../../expression/build.js";
import { DataFragment } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import { resolveProjection } from "../../query/columns/projection.js";
import { planFilter } from "../../query/filter/filter.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { unskipped } from "../../rows/rowPositions.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { type ColumnFiles, withoutFields } from "../columns/columnFiles.js";
import { fileVersionOf } from "../dataFiles.js";
import type { ComputedPart, ComputedRows } from "./computedRows.js";
import { filledColumn } from "./filledColumn.js";
import { type ResolvedBackfill, selectedOffsets } from "./resolvedBackfill.js";
import { areStored } from "./storedFields.js";

const NULL_ROWS = 1024;
const ROWS_AT_ONCE = 2 ** 18;

/** A fragment whose column got values. */
export interface FilledFragment {
  readonly before: DataFragment;
  /** The fragment with the file that has the values. */
  readonly filled: DataFragment;
  /** Digest of the work and of the content that the values were computed from. */
  readonly content: string;
  readonly parts: readonly ComputedPart[];
}

export interface OutdatedOptions {
  /** Gets the files of columns that keep some of their values. */
  readonly files: ColumnFiles;
  readonly signal: AbortSignal;
}

/** @returns the fragment, and ids of the fields that lost values */
export async function withoutOutdated(
  base: OpenLatest<ReaderEnvironment>,
  { before, filled, content, parts }: FilledFragment,
  { dependents, fillsNulls }: Pick<ResolvedBackfill, "dependents" | "fillsNulls">,
  options: OutdatedOptions,
): Promise<{ readonly fragment: DataFragment; readonly outdated: readonly number[] }> {
  const stored = dependents.filter((field) => isStored(before, field));
  if (stored.length === 0) return { fragment: filled, outdated: [] };
  const source = versionSource(base);
  const changed = await changedRows(parts, fillsNulls);
  const live = unskipped(0, before.physicalRows, (await source.readDeletions(before)) ?? new Uint32Array(0));
  const areAllChanged = (await inBoth(live, changed)).length === live.length;
  const outdated: number[] = [];
  let fragment = filled;
  for (const field of stored) {
    const valued = areAllChanged ? live : await rowsWithValues(base, before, field, options.signal);
    const gone = areAllChanged ? live : await inBoth(valued, changed);
    if (gone.length === 0) continue;
    outdated.push(...fieldIdsOf(field));
    const rows = gone.length === valued.length ? "all" : gone;
    fragment = await withoutValues(base, fragment, { field, rows, rowsKey: content }, options);
  }
  return { fragment, outdated };
}

/** Values of a column to clear. */
export interface GoneValues {
  readonly field: TableField;
  /** Offsets of the rows, ascending, or all of them. */
  readonly rows: Uint32Array | "all";
  /** Identifies the rows: equal texts mean equal rows. */
  readonly rowsKey: string;
}

/** Returns a fragment without a column's values in some rows. */
export async function withoutValues(
  base: OpenLatest<ReaderEnvironment>,
  fragment: DataFragment,
  { field, rows, rowsKey }: GoneValues,
  { files, signal }: OutdatedOptions,
): Promise<DataFragment> {
  const version = fileVersionOf(base.file);
  const nullStructs = version !== "2.0";
  const layout = layoutOfField(field);
  const { hasBlobs } = resolveProjection([field], new Map(), undefined);
  const canHaveNulls = !hasBlobs && (nullStructs || layout.kind !== "struct");
  // A column without a file in a fragment is null in all its rows.
  if (rows === "all" || !canHaveNulls) return withoutFields(fragment, new Set(fieldIdsOf(field)));
  const columns = {
    fields: [field],
    key: JSON.stringify(["outdated", rowsKey, field.id, version]),
    rowsOf: (of: DataFragment) =>
      filledColumn(versionSource(base), of, field, [nullsAt(rows, layout)], { nullStructs, signal }),
  };
  const [changed] = await files.addTo([fragment], columns, version);
  return changed;
}

/** Returns a fragment without the files that have no live column. */
export const withoutUnusedFiles = (fragment: DataFragment): DataFragment =>
  DataFragment.create({
    ...fragment,
    files: fragment.files.filter(({ fields }) => fields.length === 0 || fields.some((id) => id >= 0)),
  });

/** Returns offsets of the rows whose value may have changed, ascending. */
async function changedRows(parts: readonly ComputedPart[], fillsNulls: boolean): Promise<Uint32Array> {
  const changed: Uint32Array[] = [];
  for (const part of parts) {
    for await (const { offsets, column } of part.rows()) {
      const { kind, validity } = column;
      if (!fillsNulls) changed.push(offsets);
      else if (kind !== "null") changed.push(offsets.filter((_, row) => isValid(validity, row)));
      await yieldToEventLoop();
    }
  }
  return concatWords(changed);
}

/** Returns offsets of the rows of a fragment whose value of a column is not null, ascending. */
async function rowsWithValues(
  base: OpenLatest<ReaderEnvironment>,
  fragment: DataFragment,
  field: TableField,
  signal: AbortSignal,
): Promise<Uint32Array> {
  const hasValue = col(formatFieldPath([field.name])).isNotNull();
  const filter = await runAsync(planFilter(hasValue, {}, [field], "column"));
  return selectedOffsets(base, { filter }, fragment, signal);
}

/** Intersects two ascending lists. */
async function inBoth(left: Uint32Array, right: Uint32Array): Promise<Uint32Array> {
  const common = new Uint32Array(Math.min(left.length, right.length));
  let count = 0;
  for (let leftIndex = 0, rightIndex = 0; leftIndex < left.length && rightIndex < right.length; leftIndex++) {
    if ((leftIndex & (ROWS_AT_ONCE - 1)) === 0) await yieldToEventLoop();
    while (rightIndex < right.length && right[rightIndex] < left[leftIndex]) rightIndex++;
    if (right[rightIndex] === left[leftIndex]) common[count++] = left[leftIndex];
  }
  return common.subarray(0, count);
}

/** Makes a part of rows that were computed to be null. */
const nullsAt = (offsets: Uint32Array, layout: Layout): ComputedPart => ({
  first: offsets[0],
  last: offsets[offsets.length - 1],
  rowCount: offsets.length,
  async *rows(): AsyncGenerator<ComputedRows> {
    for (let start = 0; start < offsets.length; start += NULL_ROWS) {
      const some = offsets.subarray(start, start + NULL_ROWS);
      yield { offsets: some, column: nullColumn(layout, some.length), memory: null };
    }
  },
});

function layoutOfField(field: TableField): Layout {
  const path = formatFieldPath([field.name]);
  return layoutOf(arrowFieldFromLogical(field, path).type, path);
}

const isStored = ({ files }: DataFragment, field: TableField): boolean =>
  areStored(files, new Set(fieldIdsOf(field)));
