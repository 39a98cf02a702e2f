/**
 * Writes the rows that a merge adds to the table: replacements and new rows.
 *
 * A source with all columns provides the rows unchanged. A file of the source is committed as it is if all
 * its rows are wanted; of other files the wanted rows are copied. Columns that the source lacks come from the
 * replaced rows. In a table with stable row ids, replacements come first, in the order of the ids that they
 * inherit.
 */

import type { Column } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { countOnes } from "../../bytes/bits.js";
import { lowerBound } from "../../bytes/search.js";
import { InternalError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { type FragmentSource, openFragment } from "../../query/columns/fragmentColumns.js";
import { type Projection, storedProjection } from "../../query/columns/projection.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { physicalRow, scanColumns } from "../../query/scan/scan.js";
import { readBlobs } from "../../rows/blobValues.js";
import { STREAMED } from "../../rows/readAhead.js";
import { takeColumns } from "../../rows/takeColumns.js";
import { outdatedFields } from "../../schema/computedFields.js";
import type { TableField } from "../../schema/schema.js";
import { physicalRowCount } from "../../table/fragments/tableStatistics.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { absentColumns } from "../absentColumns.js";
import { fileVersionOf, type WrittenRows, writeTableRows } from "../dataFiles.js";
import { planCopy } from "../tableColumns.js";
import type { RowPairs } from "./join.js";
import { hasBit } from "./marks.js";
import { MERGED_ROWS, type SourceRows } from "./sourceRows.js";

/** Settings that all files of a merge share. */
export interface MergeFiles {
  readonly base: OpenVersion<ReaderEnvironment>;
  /** Fields of the table. */
  readonly fields: readonly TableField[];
  readonly source: SourceRows;
  readonly signal: AbortSignal | undefined;
}

/** Writes the rows of the source whose bits are set, each once. */
export async function wantedRows(files: MergeFiles, wanted: Uint8Array): Promise<WrittenRows[]> {
  const { source } = files;
  const made: WrittenRows[] = [];
  const partly: DataFragment[] = [];
  const whole: DataFragment[] = [];
  for (const [index, fragment] of source.fragments.entries()) {
    const count = countOnes(wanted, source.firstRows[index], fragment.physicalRows);
    if (count === fragment.physicalRows) whole.push(source.written.fragments[index]);
    else if (count > 0) partly.push(fragment);
  }
  if (whole.length > 0) made.push(asTheyAre(source, whole));
  if (partly.length > 0) {
    made.push(await writeStored(files, source.sourceFields, pickedBatches(files, partly, wanted)));
  }
  return made;
}

/** Wraps files of the source, which the source removes. */
const asTheyAre = (source: SourceRows, fragments: DataFragment[]): WrittenRows => ({
  fragments,
  rowCount: physicalRowCount(fragments),
  areInPlace: () => source.written.areInPlace(),
  discard: async () => undefined,
});

async function* pickedBatches(
  { base, source, signal }: MergeFiles,
  fragments: readonly DataFragment[],
  wanted: Uint8Array,
): AsyncGenerator<InputBatch> {
  const projection = storedProjection(source.sourceFields);
  const batches = scanColumns(versionSource(base, true), {
    fragments,
    projection,
    batchRows: MERGED_ROWS,
    readAhead: STREAMED,
    signal,
  });
  for await (const { columns, rowCount, places } of batches) {
    const firstRow = source.firstRows[places.fragmentId];
    const picked = new Uint32Array(rowCount);
    let count = 0;
    for (let row = 0; row < rowCount; row++) {
      if (hasBit(wanted, firstRow + physicalRow(places, row))) picked[count++] = row;
    }
    if (count === 0) continue;
    const rows = picked.subarray(0, count);
    yield {
      columns: count === rowCount ? columns : columns.map((column) => takeColumn(column, rows)),
      rowCount: count,
    };
  }
}

/** Writes the replacements, in the order of the pairs. */
export async function replacements(files: MergeFiles, pairs: RowPairs): Promise<WrittenRows> {
  const { base, fields, source } = files;
  const { manifest } = base.file;
  const sourceFields = new Set(source.sourceFields);
  const ids = distinctIn(pairs.fragmentIds);
  const touched = manifest.fragments.filter(({ id }) => ids.has(id));
  const others = fields.filter((field) => !sourceFields.has(field));
  // Columns computed from replaced columns become null.
  const outdated = outdatedFields(fields, new Set(source.sourceFields.map(({ name }) => name)));
  const absent = new Set([...absentColumns(others, touched, fileVersionOf(base.file)), ...outdated]);
  const kept = others.filter((field) => !absent.has(field));
  return writeStored(
    files,
    fields.filter((field) => !absent.has(field)),
    replacementBatches(files, kept, pairs),
  );
}

/** Returns the distinct numbers of a list with long runs. */
function distinctIn(numbers: Uint32Array): ReadonlySet<number> {
  const distinct = new Set<number>();
  for (let index = 0; index < numbers.length; index++) {
    if (index === 0 || numbers[index] !== numbers[index - 1]) distinct.add(numbers[index]);
  }
  return distinct;
}

/** @param kept columns that the source lacks */
async function* replacementBatches(
  { base, fields, source, signal }: MergeFiles,
  kept: readonly TableField[],
  { sourceRows, fragmentIds, targetRows }: RowPairs,
): AsyncGenerator<InputBatch> {
  const files = versionSource(base, true);
  const takeSource = rowTaker(files, source.fragments, storedProjection(source.sourceFields), signal);
  const takeTarget = rowTaker(files, base.file.manifest.fragments, storedProjection(kept), signal);
  for (let start = 0; start < sourceRows.length; start += MERGED_ROWS) {
    signal?.throwIfAborted();
    await yieldToEventLoop();
    const end = Math.min(sourceRows.length, start + MERGED_ROWS);
    const rows = sourceRows.slice(start, end);
    const sourceIds = rows.map((row) => source.fragmentOf(row));
    const offsets = rows.map((row, index) => row - source.firstRows[sourceIds[index]]);
    const sourceColumns = await takeSource(sourceIds, offsets);
    const others =
      kept.length === 0 ? [] : await takeTarget(fragmentIds.slice(start, end), targetRows.slice(start, end));
    const byField = new Map<TableField, Column>();
    for (const [index, field] of source.sourceFields.entries()) byField.set(field, sourceColumns[index]);
    for (const [index, field] of kept.entries()) byField.set(field, others[index]);
    const columns = fields.map((field) => byField.get(field)).filter((column) => column !== undefined);
    yield { columns, rowCount: rows.length };
  }
}

/** Writes rows in stored form. The batches have a part of the table's fields. */
function writeStored(
  { base, fields, signal }: MergeFiles,
  stored: readonly TableField[],
  batches: AsyncIterable<InputBatch>,
): Promise<WrittenRows> {
  const plan = planCopy(fields, stored, fileVersionOf(base.file));
  return writeTableRows(base, fields, plan, batches, { base: base.file.manifest, signal });
}

/** More than the rows of any fragment. */
const FRAGMENT_SPAN = 2 ** 32;

/** Takes the outputs of a projection for each requested row. Every row is read once. */
type TakeRows = (fragmentIds: Uint32Array, rows: Uint32Array) => Promise<Column[]>;

/** Takes rows of a version, or of unpublished files, by fragment and physical row, in any order. */
function rowTaker(
  source: FragmentSource,
  fragments: readonly DataFragment[],
  projection: Projection,
  signal: AbortSignal | undefined,
): TakeRows {
  const byId = new Map(fragments.map((fragment) => [fragment.id, fragment]));
  const takeFrom = async (id: number, rows: Uint32Array): Promise<readonly Column[]> => {
    const fragment = byId.get(id);
    if (fragment === undefined)
      throw new InternalError(`fragment ${id}, whose rows are wanted, does not exist`);
    const stored = await openFragment(source, fragment, projection.leaves);
    const taken = await takeColumns(source, projection, stored, rows, signal);
    return projection.hasBlobs ? readBlobs(source, projection, taken) : taken.columns;
  };
  return async (fragmentIds, rows) => {
    const wanted = Float64Array.from(rows, (row, index) => fragmentIds[index] * FRAGMENT_SPAN + row);
    const distinct = wanted.slice().sort();
    let count = 0;
    for (const position of distinct)
      if (count === 0 || distinct[count - 1] !== position) distinct[count++] = position;
    const places = distinct.subarray(0, count);
    const parts: (readonly Column[])[] = [];
    for (let start = 0; start < count; ) {
      const id = Math.floor(places[start] / FRAGMENT_SPAN);
      const end = lowerBound(places, (id + 1) * FRAGMENT_SPAN);
      const physical = Uint32Array.from(places.subarray(start, end), (row) => row - id * FRAGMENT_SPAN);
      parts.push(await takeFrom(id, physical));
      start = end;
    }
    const isInOrder =
      count === wanted.length && wanted.every((position, index) => position === places[index]);
    const positions = isInOrder ? null : Uint32Array.from(wanted, (position) => lowerBound(places, position));
    return projection.outputs.map((_, output) => {
      const column = concatColumns(parts.map((part) => part[output]));
      return positions === null ? column : takeColumn(column, positions);
    });
  };
}
