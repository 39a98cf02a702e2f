/** Rows that come batch by batch, from a source that may be larger than memory. */

import type { RecordBatch, RecordBatchReader, Schema, Table } from "apache-arrow";

/** Options of the constructors of {@link Scannable}. */
export interface ScannableOptions {
  /** Number of rows, as far as it is known. Nothing checks it. */
  numRows?: number;
  /**
   * True if the rows can be read more than once. Default: true for `fromTable` and `fromFactory`, false for
   * `fromIterable` and `fromRecordBatchReader`.
   */
  rescannable?: boolean;
}

/** Batches of a scan, in any kind of iterable or iterator. */
export type BatchSource =
  | AsyncIterable<RecordBatch>
  | Iterable<RecordBatch>
  | AsyncIterator<RecordBatch>
  | Iterator<RecordBatch>;

/** Source of a {@link Scannable}, for the calls of this package. */
export interface ScannableSource {
  /** @throws Error for a reader that is not open */
  readonly schema: Schema;
  /**
   * Begins a scan.
   * @throws Error for a second scan of rows that can be read once
   */
  scan(): AsyncGenerator<RecordBatch, void>;
}

/** A source of record batches with a known schema. */
export class Scannable {
  readonly schema: Schema;
  readonly numRows: number | null;
  readonly rescannable: boolean;
  private readonly native: ScannableSource;

  private constructor(schema: Schema, open: () => unknown, options: ScannableOptions) {
    const { numRows, rescannable = false } = options;
    if (numRows !== undefined && !(Number.isInteger(numRows) && numRows >= 0)) {
      throw new Error(`numRows must be a non-negative integer, got ${numRows}`);
    }
    // A reader that is not open has no schema yet.
    if (schema !== undefined && !Array.isArray(schema?.fields)) {
      throw new Error("Expected a Schema but object was null/undefined");
    }
    this.schema = schema;
    this.numRows = numRows ?? null;
    this.rescannable = rescannable;
    this.native = new Source(this, open);
  }

  /** @hidden What the calls of this package read. */
  get inner(): ScannableSource {
    return this.native;
  }

  /**
   * Makes a source of a function that each scan calls.
   * @param factory returns the batches from the first one on
   */
  static async fromFactory(
    schema: Schema,
    factory: () => BatchSource,
    opts: ScannableOptions = {},
  ): Promise<Scannable> {
    return new Scannable(schema, factory, { ...opts, rescannable: opts.rescannable ?? true });
  }

  /** Makes a source of a table. It can always be read again, and has as many rows as the table. */
  static async fromTable(table: Table, opts: ScannableOptions = {}): Promise<Scannable> {
    const { numRows } = table;
    if (opts.numRows !== undefined && opts.numRows !== numRows) {
      throw new Error(`numRows ${opts.numRows} does not match table.numRows ${numRows}`);
    }
    if (opts.rescannable === false)
      throw new Error("A table is always rescannable: rescannable cannot be false");
    return new Scannable(table.schema, () => table.batches, { numRows, rescannable: true });
  }

  /** Makes a source of an iterable. Only those that can begin again may be rescannable, such as arrays. */
  static async fromIterable(
    schema: Schema,
    iter: AsyncIterable<RecordBatch> | Iterable<RecordBatch>,
    opts: ScannableOptions = {},
  ): Promise<Scannable> {
    if (opts.rescannable === true && isOneShot(iter)) {
      throw new Error(
        "rescannable cannot be true for a one-shot iterable, such as a generator; use fromFactory to make a new one for each scan",
      );
    }
    return new Scannable(schema, () => iter, opts);
  }

  /** Makes a source of an open reader of Arrow IPC. It can be read once. */
  static async fromRecordBatchReader(
    reader: RecordBatchReader,
    opts: ScannableOptions = {},
  ): Promise<Scannable> {
    if (opts.rescannable === true) {
      throw new Error(
        "fromRecordBatchReader does not accept rescannable: true, as a reader can be read once; use fromFactory to open a new one for each scan",
      );
    }
    return new Scannable(reader.schema, () => reader, opts);
  }
}

class Source implements ScannableSource {
  readonly #scannable: Scannable;
  readonly #open: () => unknown;
  #isScanned = false;

  constructor(scannable: Scannable, open: () => unknown) {
    this.#scannable = scannable;
    this.#open = open;
  }

  get schema(): Schema {
    return requireSchema(this.#scannable);
  }

  async *scan(): AsyncGenerator<RecordBatch, void> {
    if (this.#isScanned && !this.#scannable.rescannable)
      throw new Error("The Scannable was read already; it can be read once");
    requireSchema(this.#scannable);
    this.#isScanned = true;
    const batches = asIterable(this.#open());
    if (batches === null) throw new Error("A Scannable must yield record batches");
    yield* batches;
  }
}

function requireSchema({ schema }: { readonly schema: Schema | undefined }): Schema {
  if (schema === undefined) throw new Error("The reader has no schema: call its method open() first");
  return schema;
}

/** Returns what can be iterated over an iterable or an iterator; null for another value. */
function asIterable(value: unknown): AsyncIterable<RecordBatch> | Iterable<RecordBatch> | null {
  if (typeof value !== "object" || value === null) return null;
  if (Symbol.asyncIterator in value) return value as AsyncIterable<RecordBatch>;
  if (Symbol.iterator in value) return value as Iterable<RecordBatch>;
  if (!("next" in value)) return null;
  return { [Symbol.asyncIterator]: () => value as AsyncIterator<RecordBatch> };
}

/** True for an iterator, and for what returns itself as its iterator. */
function isOneShot(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { [Symbol.iterator]: open, [Symbol.asyncIterator]: openAsync = open } = value as {
    [Symbol.asyncIterator]?: () => unknown;
    [Symbol.iterator]?: () => unknown;
  };
  return openAsync === undefined ? "next" in value : openAsync.call(value) === value;
}
