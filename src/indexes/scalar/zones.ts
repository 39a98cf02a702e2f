/**
 * Zones: ranges of rows of one fragment, each with a summary of its values. An answer holds all rows of the
 * zones that may match, so the caller rechecks them.
 *
 * A zone holds the rows with one quotient of physical offset and zone size, from the first such row to the
 * last.
 */

import type { Column } from "../../arrow/columns/column.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { RoaringSet } from "../../bytes/roaringSet.js";
import { InternalError, InvalidInputError } from "../../errors.js";
import { type FileColumnType, integerWords, UINT64_TYPE, uint64Column } from "../indexColumns.js";
import type { OpenIndexFile } from "../indexFile.js";
import type { IndexParameters, IndexRows, IndexTarget, OldSegment, RowStream } from "../kind.js";
import { RowIds, unionInPairs } from "../rowIds.js";

/** Default number of rows of a zone. */
export const ZONE_ROWS = 8192;
/** Bounds for parameters and files. */
export const MAX_ZONE_ROWS = 2 ** 24;
const MAX_ZONES = 2 ** 26;

export interface Zone {
  readonly fragmentId: number;
  /** Physical offset of the first row. */
  readonly start: number;
  /** Number of rows from the first to the last, deleted rows included. */
  readonly length: number;
}

/** Summarises the values of one zone after another. */
export interface Summary {
  add(values: Column): void;
  /** Ends the current zone. */
  finish(zone: Zone): void;
}

/** Summarises rows zone by zone. Yields after each part of a zone. @param rows with fragment and offsets */
export async function* summarise(rows: RowStream, zoneRows: number, summary: Summary): AsyncGenerator<void> {
  let current: { fragmentId: number; zone: number; start: number; end: number } | null = null;
  const finish = (): void => {
    if (current === null) return;
    const { fragmentId, start, end } = current;
    summary.finish({ fragmentId, start, length: end - start });
  };
  for await (const batch of rows) {
    for (const { fragmentId, zone, start, end, values } of zoneParts(batch, zoneRows)) {
      if (current === null || current.fragmentId !== fragmentId || current.zone !== zone) {
        finish();
        current = { fragmentId, zone, start, end };
      }
      current.end = end;
      summary.add(values);
      await yieldToEventLoop();
      yield;
    }
  }
  finish();
}

/** Yields runs of rows of one zone; the next batch may continue the last. */
function* zoneParts({ values, fragmentRows, rowCount }: IndexRows, zoneRows: number) {
  if (fragmentRows === undefined) throw new InternalError("a zone index needs the rows' fragment offsets");
  const { fragmentId, offsets } = fragmentRows;
  for (let first = 0; first < rowCount; ) {
    const zone = Math.floor(offsets[first] / zoneRows);
    let end = first + 1;
    while (end < rowCount && offsets[end] < (zone + 1) * zoneRows) end++;
    const part = sliceColumn(values, first, end - first);
    yield { fragmentId, zone, start: offsets[first], end: offsets[end - 1] + 1, values: part };
    first = end;
  }
}

/** Returns the number of rows of zones. */
export const rowCountOf = (zones: readonly Zone[]): number =>
  zones.reduce((sum, { length }) => sum + length, 0);

/** Returns the target of a merge: its parameters default to those of the first old segment. */
export const withParameters = ([old]: readonly OldSegment[], target: IndexTarget): IndexTarget => ({
  ...target,
  parameters: { ...old?.index.parameters, ...target.parameters },
});

/** Returns the zone size that the parameter `rowsPerZone` sets. @throws InvalidInputError */
export function zoneRowsOf({ rowsPerZone }: IndexParameters): number {
  const rows = (rowsPerZone ?? ZONE_ROWS) as number;
  if (Number.isInteger(rows) && rows >= 1 && rows <= MAX_ZONE_ROWS) return rows;
  throw new InvalidInputError(`rowsPerZone is ${String(rows)}, not an integer from 1 to ${MAX_ZONE_ROWS}`);
}

export const ZONE_COLUMNS: readonly FileColumnType[] = ["fragment_id", "zone_start", "zone_length"].map(
  (name) => ({ name, type: UINT64_TYPE }),
);

/** Returns the file columns of zones. */
export const zoneColumns = (zones: readonly Zone[]): Column[] =>
  (["fragmentId", "start", "length"] as const).map((member) => {
    const words = new Uint32Array(2 * zones.length);
    for (const [index, { [member]: number }] of zones.entries()) {
      words[2 * index] = number % 2 ** 32;
      words[2 * index + 1] = number / 2 ** 32;
    }
    return uint64Column(words);
  });

/** Reads the zones of a file. @throws CorruptFileError for impossible offsets */
export async function readZones(file: OpenIndexFile): Promise<Zone[]> {
  if (file.rowCount > MAX_ZONES) file.fail(`the file has ${file.rowCount} zones, more than ${MAX_ZONES}`);
  const [fragments, starts, lengths] = await Promise.all(
    ZONE_COLUMNS.map(async ({ name }) => integerWords(await file.column(name), file.path)),
  );
  return Array.from({ length: file.rowCount }, (_, zone) => {
    const [fragmentId, start, length] = [fragments, starts, lengths].map((words) => {
      if (words[2 * zone + 1] !== 0) file.fail(`zone ${zone} lies outside of any fragment`);
      return words[2 * zone];
    });
    if (start + length > 2 ** 32) file.fail(`zone ${zone} lies outside of any fragment`);
    return { fragmentId, start, length };
  });
}

/** Returns the addresses of all rows of zones. */
export function rowsOfZones(zones: readonly Zone[]): RowIds {
  const ranges = new Map<number, RoaringSet[]>();
  for (const { fragmentId, start, length } of zones) {
    if (length === 0) continue;
    const fragmentRanges = ranges.get(fragmentId);
    const range = RoaringSet.ofRange(start, start + length);
    if (fragmentRanges === undefined) ranges.set(fragmentId, [range]);
    else fragmentRanges.push(range);
  }
  return RowIds.ofSets([...ranges].map(([high, sets]) => [high, unionInPairs(sets) as RoaringSet]));
}
