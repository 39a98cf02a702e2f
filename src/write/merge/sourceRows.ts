/**
 * Rows of a merge's source. They are written once, in stream order, to data files of the table, which are
 * invisible until a manifest names them. Later steps read these files, so the source may be a stream, and a
 * retry does not need it.
 *
 * Keys are held in memory up to a limit. Above it they are read in passes; each pass reads all keys and keeps
 * those whose hashes lie in its range.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isSet } from "../../arrow/columns/validity.js";
import type { ArrowInput, InputBounds } from "../../arrow/exchange/input.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { concatSignedWords, concatWords } from "../../bytes/concatWords.js";
import { upperBound } from "../../bytes/search.js";
import { UnsupportedError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { type Projection, resolveProjection } from "../../query/columns/projection.js";
import { type KeyColumn, keyColumn, rowsWithKey } from "../../query/compare/keyColumns.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { fileVersionOf, type WrittenRows, writeTableRows } from "../dataFiles.js";
import { planAppend } from "../tableColumns.js";
import type { KeyPart } from "./clauses.js";
import { hashKeys } from "./keyHashes.js";
import { KeyTable } from "./keyTable.js";

/** Rows of a batch of the merge. */
export const MERGED_ROWS = 32_768;
/** Bytes of a row in a table of keys, besides its key. */
const ROW_BYTES = 24;
/** Rows are numbered with 32 bits. */
const MAX_ROWS = 2 ** 32 - 1;

/** Keys of some source rows, without keys that have nulls. */
export interface SourceKeys {
  readonly table: KeyTable;
  /** Columns of the keys, by row of the key table. */
  readonly columns: readonly KeyColumn[];
  /** By row of the key table: number of the source row. */
  readonly rows: Uint32Array;
  /** Further columns, by row of the key table. */
  readonly carried: readonly Column[];
  /** Seed of the hashes. */
  readonly seed: number;
  /** True if the pass covers a hash: then these keys include all source keys with the hash. */
  covers(hash: number): boolean;
  /** True for the first pass, which also handles target keys with nulls. */
  readonly isFirst: boolean;
}

/** Settings for reading keys. */
interface KeyRead {
  readonly source: FragmentSource;
  readonly projection: Projection;
  readonly key: readonly KeyPart[];
  /** Index in the projection of each key column, then of each further column. */
  readonly keyPlaces: readonly number[];
  readonly carriedPlaces: readonly number[];
  readonly seed: number;
  readonly signal: AbortSignal | undefined;
}

export interface SourceOptions {
  readonly bounds?: InputBounds;
  readonly signal?: AbortSignal;
}

export class SourceRows {
  /** Fragments of the files, with their indexes as ids. */
  readonly fragments: readonly DataFragment[];
  /** By fragment: number of its first row. */
  readonly firstRows: Float64Array;
  readonly rowCount: number;
  /** Columns of the table that the files have. */
  readonly sourceFields: readonly TableField[];
  readonly written: WrittenRows;

  private constructor(written: WrittenRows, sourceFields: readonly TableField[]) {
    this.written = written;
    this.sourceFields = sourceFields;
    this.fragments = written.fragments.map((fragment, id) => ({ ...fragment, id }));
    let rowCount = 0;
    this.firstRows = Float64Array.from(this.fragments, ({ physicalRows }) => {
      const first = rowCount;
      rowCount += physicalRows;
      return first;
    });
    this.rowCount = rowCount;
  }

  /**
   * Writes the rows of a source.
   * @param sourceFields those that the rows have
   * @throws TableSchemaValidationError for rows that do not fit; UnsupportedError for more than 2^32 - 1 rows
   */
  static async write(
    base: OpenVersion,
    input: Pick<ArrowInput, "schema" | "batches">,
    fields: readonly TableField[],
    sourceFields: readonly TableField[],
    { bounds, signal }: SourceOptions,
  ): Promise<SourceRows> {
    const plan = planAppend(sourceFields, input.schema, fileVersionOf(base.file));
    const written = await writeTableRows(base, fields, plan, input.batches, {
      base: base.file.manifest,
      maxDecodedBytes: bounds?.maxBatchBytes,
      memory: bounds?.memory,
      signal,
    });
    if (written.rowCount > MAX_ROWS) {
      await written.discard();
      throw new UnsupportedError(`a merge takes at most ${MAX_ROWS} rows`);
    }
    return new SourceRows(written, sourceFields);
  }

  /** Returns the id of the fragment that has a row. */
  fragmentOf(row: number): number {
    return upperBound(this.firstRows, row, 1) - 1;
  }

  /**
   * Reads the keys, in as many passes as their bytes take.
   * @param carried paths of further columns to keep in memory with the keys
   * @param maxBytes limit on memory at a time
   */
  async *keys(
    base: OpenVersion<ReaderEnvironment>,
    key: readonly KeyPart[],
    carried: readonly string[],
    maxBytes: number,
    signal?: AbortSignal,
  ): AsyncGenerator<SourceKeys> {
    const paths = [...new Set([...key.map(({ path }) => path), ...carried])];
    const read: KeyRead = {
      source: versionSource(base, true),
      projection: resolveProjection(this.sourceFields, new Map(), paths),
      keyPlaces: key.map(({ path }) => paths.indexOf(path)),
      carriedPlaces: carried.map((path) => paths.indexOf(path)),
      key,
      seed: crypto.getRandomValues(new Int32Array(1))[0],
      signal,
    };
    const all = await this.#read(read, 0, 1, maxBytes);
    if (all.keys !== null) {
      yield all.keys;
      return;
    }
    const passCount = Math.ceil(all.byteLength / maxBytes);
    for (let pass = 0; pass < passCount; pass++) {
      const { keys } = await this.#read(read, pass, passCount, Number.POSITIVE_INFINITY);
      if (keys !== null) yield keys;
    }
  }

  /** Returns the keys of one pass and their bytes; only the bytes if they exceed `maxBytes`. */
  async #read(
    { source, projection, keyPlaces, carriedPlaces, key, seed, signal }: KeyRead,
    pass: number,
    passCount: number,
    maxBytes: number,
  ): Promise<{ readonly keys: SourceKeys | null; readonly byteLength: number }> {
    const covers = (hash: number): boolean => passOf(hash, passCount) === pass;
    const parts: { columns: Column[]; rows: Uint32Array; hashes: Int32Array }[] = [];
    const places = [...keyPlaces, ...carriedPlaces];
    let byteLength = 0;
    let firstRow = 0;
    const batches = scanColumns(source, {
      fragments: this.fragments,
      projection,
      batchRows: MERGED_ROWS,
      readAhead: STREAMED,
      signal,
    });
    for await (const { columns, rowCount } of batches) {
      signal?.throwIfAborted();
      await yieldToEventLoop();
      const keyParts = keyPlaces.map((position, index) => keyColumn(columns[position], key[index].form));
      const hashes = hashKeys(keyParts, rowCount, seed);
      const picked = pickRows(keyParts, hashes, covers);
      const wanted = places.map((position, index) =>
        index < keyParts.length ? keyParts[index] : columns[position],
      );
      const taken = wanted.map((column) =>
        picked.length === rowCount ? column : takeColumn(column, picked),
      );
      byteLength += picked.length * ROW_BYTES + taken.reduce((sum, column) => sum + columnBytes(column), 0);
      if (byteLength > maxBytes) parts.length = 0;
      else
        parts.push({
          columns: taken,
          rows: picked.map((row) => firstRow + row),
          hashes: picked.length === rowCount ? hashes : Int32Array.from(picked, (row) => hashes[row]),
        });
      firstRow += rowCount;
    }
    if (byteLength > maxBytes) return { keys: null, byteLength };
    const columns: Column[] = [];
    for (let index = 0; index < places.length && parts.length > 0; index++) {
      columns.push(await runAsync(concatInSteps(parts.map((part) => part.columns[index])), signal));
    }
    const rows = concatWords(parts.map((part) => part.rows));
    await yieldToEventLoop();
    const hashes = concatSignedWords(parts.map((part) => part.hashes));
    // Frees the memory of the parts.
    parts.length = 0;
    const keys = columns.slice(0, keyPlaces.length) as KeyColumn[];
    const table = await KeyTable.of(keys, hashes);
    const carried = columns.slice(keyPlaces.length);
    return { keys: { table, columns: keys, rows, carried, covers, seed, isFirst: pass === 0 }, byteLength };
  }
}

/** Returns the pass that handles a key. Hash tables use the other end of the hash. */
const passOf = (hash: number, passCount: number): number => Math.floor(((hash >>> 0) * passCount) / 2 ** 32);

/** Returns the rows whose keys have no nulls and are covered. */
function pickRows(
  key: readonly KeyColumn[],
  hashes: Int32Array,
  covers: (hash: number) => boolean,
): Uint32Array {
  const valid = rowsWithKey(key, hashes.length);
  const picked = new Uint32Array(hashes.length);
  let count = 0;
  for (let row = 0; row < hashes.length; row++) {
    if ((valid === null || isSet(valid, row)) && covers(hashes[row])) picked[count++] = row;
  }
  return picked.subarray(0, count);
}
