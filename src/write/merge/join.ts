/**
 * Joins the rows of a merge's source with the table by key, and decides the fate of each row. It reads only
 * the columns of the key and of the filters from the table, batch by batch, once for each pass over the
 * source's keys.
 */

import type { Column } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { lazyModule } from "../../async/lazy.js";
import { NumberList } from "../../bytes/growing.js";
import { InternalError, InvalidInputError } from "../../errors.js";
import type { ValueType } from "../../expression/values/types.js";
import type { DataFragment } from "../../format/table.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { type Projection, resolveProjection } from "../../query/columns/projection.js";
import { type KeyForm, keyColumn, rowsWithKey } from "../../query/compare/keyColumns.js";
import type { IndexedRows } from "../../query/indexes/indexedRows.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { takenBatches } from "../../query/scan/chosenRows.js";
import { physicalRow, type RowPlaces, type ScannedRows, scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { TableField } from "../../schema/schema.js";
import { physicalRowCount } from "../../table/fragments/tableStatistics.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { FilterColumn, KeyPart, MergePlan, MergeRequest, RowFilter } from "./clauses.js";
import { hashKeys } from "./keyHashes.js";
import { NO_ROW } from "./keyTable.js";
import { RowMarks, setBit } from "./marks.js";
import { MERGED_ROWS, type SourceKeys, type SourceRows } from "./sourceRows.js";

/** The first merge into a table with indexes loads this module. */
const looking = lazyModule(() => import("../../query/indexes/filterLookups.js"));

/** Rows that a scan compares in the time in which an index finds one row and its columns are read. */
const SCANNED_PER_KEY = 16;
/** Maximum number of keys that are looked up: an index sorts them in one step. */
const MAX_LOOKED_UP = 16_384;

/** Pairs of a source row and a table row that it replaces; a source row may replace several. */
export interface RowPairs {
  /** Numbers of source rows. */
  readonly sourceRows: Uint32Array;
  /** Replaced rows: ids of their fragments, and their physical rows. */
  readonly fragmentIds: Uint32Array;
  readonly targetRows: Uint32Array;
}

/** By fragment id: physical rows, ascending and distinct. */
export type FragmentRows = ReadonlyMap<number, Uint32Array>;

export interface Joined {
  /** A bit for each source row, set if it matches a row of the table. */
  readonly matched: Uint8Array;
  /** Rows of the table to delete: replaced rows, and rows that the source lacks. */
  readonly removed: FragmentRows;
  readonly removedBySource: number;
}

export interface JoinOptions {
  /** Limit on the bytes of keys in memory. */
  readonly maxKeyBytes: number;
  readonly signal?: AbortSignal;
  /** Called after each pass over the source's keys. */
  readonly onPairs: (pairs: RowPairs) => Promise<void>;
}

/** @throws InvalidInputError if several source rows would replace the same row */
export async function joinByKey(
  base: OpenVersion<ReaderEnvironment>,
  fields: readonly TableField[],
  source: SourceRows,
  request: MergeRequest,
  plan: MergePlan,
  { maxKeyBytes, signal, onPairs }: JoinOptions,
): Promise<Joined> {
  const carried = pathsOf(plan.updateFilter, "source");
  const join = new Join({ base, fields, request, plan, carried, signal }, source.rowCount);
  for await (const keys of source.keys(base, plan.key, carried, maxKeyBytes, signal)) {
    await onPairs(await join.pass(keys));
  }
  return join.outcome();
}

const pathsOf = (filter: RowFilter | null, side: "source" | "target"): string[] => [
  ...new Set((filter?.columns ?? []).filter((column) => column.side === side).map(({ path }) => path)),
];

/** Columns of one batch of the table, and the source rows that they may match. */
interface TargetBatch {
  /** Columns by path. */
  readonly columns: ReadonlyMap<string, Column>;
  readonly rowCount: number;
  readonly places: RowPlaces;
}

/** A merge, and the columns of the source that its filter needs. */
interface JoinWork {
  readonly base: OpenVersion<ReaderEnvironment>;
  readonly fields: readonly TableField[];
  readonly request: MergeRequest;
  readonly plan: MergePlan;
  readonly carried: readonly string[];
  readonly signal: AbortSignal | undefined;
}

class Join {
  readonly #work: JoinWork;
  readonly #matched: Uint8Array;
  readonly #removed = new Map<number, RowMarks>();
  #removedBySource = 0;

  constructor(work: JoinWork, sourceRowCount: number) {
    this.#work = work;
    this.#matched = new Uint8Array((sourceRowCount + 7) >>> 3);
  }

  /** Compares the rows of the table with the keys of one pass. */
  async pass(keys: SourceKeys): Promise<RowPairs> {
    const pairs = new PairLists();
    if (keys.rows.length > 0 || this.#work.request.remove !== null) {
      for await (const batch of this.#targets(keys)) await this.#look(batch, keys, pairs);
    }
    return pairs.pairs;
  }

  /** Yields the rows of the table that the keys may match, or all of them. */
  async *#targets(keys: SourceKeys): AsyncGenerator<TargetBatch> {
    const { base, fields, plan, signal } = this.#work;
    const { key, updateFilter, removeFilter } = plan;
    const paths = [
      ...new Set([
        ...key.map(({ path }) => path),
        ...pathsOf(updateFilter, "target"),
        ...pathsOf(removeFilter, "target"),
      ]),
    ];
    const projection = resolveProjection(fields, new Map(), paths);
    const source = versionSource(base);
    const indexed = await this.#lookUp(keys, source);
    for await (const { columns, rowCount, places } of targetRows(source, projection, base, indexed, signal)) {
      signal?.throwIfAborted();
      await yieldToEventLoop();
      yield {
        columns: new Map(paths.map((path, index) => [path, columns[index]])),
        rowCount,
        places,
      };
    }
  }

  /** Looks the keys up in indexes. @returns null if all rows have to be compared, or if that is quicker */
  async #lookUp(keys: SourceKeys, source: FragmentSource): Promise<IndexedRows | null> {
    const { base, fields, plan, request, signal } = this.#work;
    const { fragments } = base.file.manifest;
    if (!request.useIndexes || request.remove !== null) return null;
    const keyCount = keys.rows.length;
    if (keyCount > MAX_LOOKED_UP || keyCount * SCANNED_PER_KEY > physicalRowCount(fragments)) return null;
    const parts = plan.key.flatMap(({ path, type, form }, index) =>
      isSearchable(form, type) ? [{ path, type, values: keys.columns[index] }] : [],
    );
    if ((base.file.indexSection?.indices ?? []).length === 0) return null;
    const lookups = (await looking.get()).FilterLookups.ofKeys(base, parts, fields);
    const use = (await lookups?.plan(fragments, Number.POSITIVE_INFINITY)) ?? null;
    return use === null || lookups === null ? null : lookups.find(use, source, null, signal);
  }

  async #look(batch: TargetBatch, keys: SourceKeys, pairs: PairLists): Promise<void> {
    const key = keyOf(this.#work.plan.key, batch.columns);
    const hashes = hashKeys(key, batch.rowCount, keys.seed);
    const firstMatches = keys.table.find(key, hashes);
    await this.#match(batch, keys, firstMatches, pairs);
    if (this.#work.request.remove === null) return;
    const valid = rowsWithKey(key, batch.rowCount);
    const lacking = new NumberList();
    for (let row = 0; row < batch.rowCount; row++) {
      if (firstMatches[row] !== NO_ROW) continue;
      if (isValid(valid, row) ? keys.covers(hashes[row]) : keys.isFirst) lacking.push(row);
    }
    const rows = lacking.numbers;
    const chosen = await this.#chosenPairs(this.#work.plan.removeFilter, rows.length, ({ path }) =>
      takeColumn(columnAt(batch.columns, path), rows),
    );
    const removed = chosen === null ? rows : chosen.map((index) => rows[index]);
    this.#removedBySource += removed.length;
    this.#remove(batch, removed);
  }

  /** Records matched rows, and pairs the replaced ones with their source rows. */
  async #match(
    batch: TargetBatch,
    keys: SourceKeys,
    firstMatches: Int32Array,
    pairs: PairLists,
  ): Promise<void> {
    const { table, rows } = keys;
    const targets = new NumberList();
    const sources = new NumberList();
    for (let row = 0; row < firstMatches.length; row++) {
      for (let each = firstMatches[row]; each !== NO_ROW; each = table.next(each)) {
        const sourceRow = rows[each];
        setBit(this.#matched, sourceRow);
        targets.push(row);
        sources.push(each);
      }
    }
    if (this.#work.request.update === null || targets.length === 0) return;
    const [targetRows, sourceRows] = [targets.numbers, sources.numbers];
    const chosen = await this.#chosenPairs(
      this.#work.plan.updateFilter,
      targetRows.length,
      ({ side, path }) =>
        side === "source"
          ? takeColumn(keys.carried[this.#work.carried.indexOf(path)], sourceRows)
          : takeColumn(columnAt(batch.columns, path), targetRows),
    );
    const replaced = chosen === null ? targetRows : chosen.map((index) => targetRows[index]);
    for (let index = 1; index < replaced.length; index++) {
      if (replaced[index] !== replaced[index - 1]) continue;
      throw new InvalidInputError(
        "on: several of the rows have the same key, and would replace the same row",
      );
    }
    for (let index = 0; index < replaced.length; index++) {
      const sourceRow = rows[sourceRows[chosen === null ? index : chosen[index]]];
      pairs.add(sourceRow, batch.places.fragmentId, physicalRow(batch.places, replaced[index]));
    }
    this.#remove(batch, replaced);
  }

  /** Returns indexes of the rows, or pairs of rows, that a filter selects; null for all of them. */
  async #chosenPairs(
    filter: RowFilter | null,
    count: number,
    columnOf: (column: FilterColumn) => Column,
  ): Promise<Uint32Array | null> {
    if (filter === null || count === 0) return null;
    return runAsync(filter.condition.select(filter.columns.map(columnOf), count), this.#work.signal);
  }

  #remove({ places }: TargetBatch, rows: Uint32Array): void {
    if (rows.length === 0) return;
    let marks = this.#removed.get(places.fragmentId);
    if (marks === undefined) {
      marks = new RowMarks();
      this.#removed.set(places.fragmentId, marks);
    }
    for (const row of rows) marks.add(physicalRow(places, row));
  }

  async outcome(): Promise<Joined> {
    const removed = new Map<number, Uint32Array>();
    for (const [id, marks] of this.#removed) removed.set(id, await runAsync(marks.rows(), this.#work.signal));
    return { matched: this.#matched, removed, removedBySource: this.#removedBySource };
  }
}

/** True if indexes hold a column's values in the form of keys. Keys store bits and nested values as bytes. */
const isSearchable = (form: KeyForm, { kind }: ValueType): boolean =>
  typeof form === "string" && kind !== "bool" && kind !== "null" && kind !== "other";

/** Yields rows of a version, fragment by fragment: those that indexes found, or all if there are none. */
async function* targetRows(
  source: FragmentSource,
  projection: Projection,
  { file: { manifest } }: OpenVersion,
  indexed: IndexedRows | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<ScannedRows> {
  const { fragments } = manifest;
  const scan = (scanned: readonly DataFragment[]) =>
    scanColumns(source, {
      fragments: scanned,
      projection,
      batchRows: MERGED_ROWS,
      readAhead: STREAMED,
      isTransient: true,
      signal,
    });
  if (indexed === null) {
    yield* scan(fragments);
    return;
  }
  for await (const part of indexed.parts(source, fragments, signal)) {
    yield* part.kind === "scan"
      ? scan(part.fragments)
      : takenBatches(source, projection, part.candidates.fragment, part.rows, signal);
  }
}

/** Growing lists of pairs. */
export class PairLists {
  readonly #sourceRows = new NumberList();
  readonly #fragmentIds = new NumberList();
  readonly #targetRows = new NumberList();

  add(sourceRow: number, fragmentId: number, targetRow: number): void {
    this.#sourceRows.push(sourceRow);
    this.#fragmentIds.push(fragmentId);
    this.#targetRows.push(targetRow);
  }

  get pairs(): RowPairs {
    return {
      sourceRows: this.#sourceRows.numbers,
      fragmentIds: this.#fragmentIds.numbers,
      targetRows: this.#targetRows.numbers,
    };
  }
}

const keyOf = (parts: readonly KeyPart[], columns: ReadonlyMap<string, Column>) =>
  parts.map(({ path, form }) => keyColumn(columnAt(columns, path), form));

function columnAt(columns: ReadonlyMap<string, Column>, path: string): Column {
  const column = columns.get(path);
  if (column === undefined) throw new InternalError(`column ${path} was not read`);
  return column;
}
