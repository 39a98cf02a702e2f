/**
 * Zones: ranges of rows of one fragment, each with a summary of its values. Kinds that keep summaries answer with all
 * rows of the zones that may hold what is asked for, which then have to be looked at.
 *
 * A zone is the rows whose physical offsets, divided by the rows of a zone, give the same number; it goes from the first
 * of them to the last.
 */

import type { Column } from "../../arrow/columns/column.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { RoaringSet } from "../../bytes/roaringSet.js";
import { InternalError, InvalidInputError } from "../../errors.js";
import {
  type FileColumnType,
  integerWords,
  type OpenIndexFile,
  UINT64_TYPE,
  uint64Column,
} from "../indexFile.js";
import type { IndexRows } from "../kind.js";
import { RowIds } from "../rowIds.js";

/** Rows of a zone, where the parameters say nothing else. */
export const ZONE_ROWS = 8192;
/** Bounds on what a parameter or a file may say. */
export const MAX_ZONE_ROWS = 2 ** 24;
const MAX_ZONES = 2 ** 26;

export interface Zone {
  readonly fragmentId: number;
  /** Physical offset of the first row. */
  readonly start: number;
  /** Rows from the first to the last, those between that were deleted included. */
  readonly length: number;
}

/** Rows of one zone, in the order in which they lie; the next batch may go on with the same one. */
interface ZonePart {
  readonly fragmentId: number;
  readonly zone: number;
  readonly start: number;
  readonly end: number;
  readonly values: Column;
}

/** What summarises the values of one zone after the other. */
export interface Summary {
  add(values: Column): void;
  /** The zone is complete. */
  finish(zone: Zone): void;
}

/**
 * Summarises rows zone by zone, and lets the caller go on after each part of one.
 * @param rows with their places
 */
export async function* summarise(
  rows: AsyncIterable<IndexRows>,
  zoneRows: number,
  summary: Summary,
): AsyncGenerator<void, void, undefined> {
  let current: { readonly fragmentId: number; readonly zone: number; start: number; end: number } | null =
    null;
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

function* zoneParts({ values, places, rowCount }: IndexRows, zoneRows: number): Generator<ZonePart> {
  if (places === undefined) throw new InternalError("rows of an index by zones without their places");
  const { fragmentId, offsets } = places;
  for (let first = 0; first < rowCount; ) {
    const zone = Math.floor(offsets[first] / zoneRows);
    let end = first + 1;
    while (end < rowCount && offsets[end] < (zone + 1) * zoneRows) end++;
    const part = sliceColumn(values, first, end - first);
    yield { fragmentId, zone, start: offsets[first], end: offsets[end - 1] + 1, values: part };
    first = end;
  }
}

/** The number of rows of a zone that parameters ask for, as `rowsPerZone`. @throws InvalidInputError */
export function zoneRowsOf({ rowsPerZone }: Readonly<Record<string, unknown>>): number {
  const given = rowsPerZone ?? ZONE_ROWS;
  if (typeof given === "number" && Number.isInteger(given) && given >= 1 && given <= MAX_ZONE_ROWS)
    return given;
  throw new InvalidInputError(`rowsPerZone is ${String(given)}, not an integer from 1 to ${MAX_ZONE_ROWS}`);
}

// ------------------------------------------------------------------------------------------------- files

export const ZONE_COLUMNS: readonly FileColumnType[] = [
  { name: "fragment_id", type: UINT64_TYPE },
  { name: "zone_start", type: UINT64_TYPE },
  { name: "zone_length", type: UINT64_TYPE },
];

/** The columns of zones in a file. */
export function zoneColumns(zones: readonly Zone[]): Column[] {
  return [
    uint64Column(wordsOf(zones.map(({ fragmentId }) => fragmentId))),
    uint64Column(wordsOf(zones.map(({ start }) => start))),
    uint64Column(wordsOf(zones.map(({ length }) => length))),
  ];
}

function wordsOf(numbers: readonly number[]): Uint32Array {
  const words = new Uint32Array(2 * numbers.length);
  for (const [index, number] of numbers.entries()) {
    words[2 * index] = number % 2 ** 32;
    words[2 * index + 1] = number / 2 ** 32;
  }
  return words;
}

/** The zones of a file. @throws CorruptFileError for places that no row has */
export async function readZones(file: OpenIndexFile): Promise<Zone[]> {
  if (file.rowCount > MAX_ZONES) file.fail(`${file.rowCount} zones`);
  const [fragments, starts, lengths] = await Promise.all(
    ZONE_COLUMNS.map(async ({ name }) => integerWords(await file.column(name), file.path)),
  );
  return Array.from({ length: file.rowCount }, (_, zone) => {
    const [fragmentId, start, length] = [fragments, starts, lengths].map((words) => {
      if (words[2 * zone + 1] !== 0) file.fail(`zone ${zone} lies where no row can be`);
      return words[2 * zone];
    });
    if (start + length > 2 ** 32) file.fail(`zone ${zone} lies where no row can be`);
    return { fragmentId, start, length };
  });
}

/** The addresses of all rows of zones. */
export function rowsOfZones(zones: readonly Zone[]): RowIds {
  const ranges = new Map<number, RoaringSet[]>();
  for (const { fragmentId, start, length } of zones) {
    if (length === 0) continue;
    const known = ranges.get(fragmentId);
    const range = RoaringSet.ofRange(start, start + length);
    if (known === undefined) ranges.set(fragmentId, [range]);
    else known.push(range);
  }
  return RowIds.ofSets(Array.from(ranges, ([high, sets]) => [high, unionOfSets(sets)] as const));
}

function unionOfSets(sets: readonly RoaringSet[]): RoaringSet {
  let united = sets;
  while (united.length > 1) {
    const pairs: RoaringSet[] = [];
    for (let index = 0; index < united.length; index += 2) {
      const next = united[index + 1];
      pairs.push(next === undefined ? united[index] : united[index].union(next));
    }
    united = pairs;
  }
  return united[0];
}
