/** Reads and writes index files: data files with few columns that belong to no table. */

import { type DataType, Field, List, Schema } from "apache-arrow";
import type { Column } from "../arrow/columns/column.js";
import { columnBytes } from "../arrow/columns/columnBytes.js";
import { concatColumns } from "../arrow/columns/concatColumns.js";
import { nullColumn } from "../arrow/columns/nullColumn.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import type { InputBatch } from "../arrow/exchange/input.js";
import { arrowTypeFromLogical } from "../arrow/types/logicalTypes.js";
import { formatType, isSameType } from "../arrow/types/type.js";
import { lazyModule } from "../async/lazy.js";
import { CorruptFileError, UnsupportedError } from "../errors.js";
import type { DataFileMetadata } from "../file/container/reader.js";
import { globalBufferOf, readGlobalBuffer } from "../file/container/reader.js";
import { isKnownEncoding } from "../file/pages/knownEncodings.js";
import type { DataFileWriter } from "../file/writing/writer.js";
import { join } from "../platform/native.js";
import { planNewColumns } from "../rows/columnPlan.js";
import { type LeafPlan, planLeaves } from "../rows/leafPlan.js";
import { columnsOfFile, type OpenColumns, openColumns } from "../rows/openColumns.js";
import { STREAMED } from "../rows/readAhead.js";
import { readColumns } from "../rows/readColumns.js";
import { takeColumns } from "../rows/takeColumns.js";
import type { TableField } from "../schema/schema.js";
import type { FileColumnType } from "./indexColumns.js";
import type { IndexFiles, IndexTarget, WrittenIndexFile } from "./kind.js";

/** Searches are more frequent than builds, so the writer loads with the first build. */
const writing = lazyModule(() => import("../rows/writeColumns.js"));

/** Writes a file of an index. @param batches columns in the order of `columns` */
export async function writeIndexFile(
  { disk, directory, fileVersion, scratch, signal }: IndexTarget,
  name: string,
  columns: readonly FileColumnType[],
  batches: AsyncIterable<InputBatch>,
  beforeEnd?: (file: DataFileWriter) => Promise<void> | void,
): Promise<WrittenIndexFile> {
  const fields = columns.map(
    (column) =>
      new Field<DataType>(
        column.name,
        column.item === undefined
          ? arrowTypeFromLogical(column.type, column.name)
          : new List(new Field("item", arrowTypeFromLogical(column.item, column.name), true)),
        column.nullable === true,
      ),
  );
  const plan = planNewColumns(new Schema(fields));
  const path = join(directory, name);
  const { writeColumns } = await writing.get();
  const options = { version: fileVersion, scratch, signal, beforeEnd };
  const { byteLength } = await writeColumns(disk, path, plan, batches, options);
  return { name, byteLength };
}

/** Yields one batch, unless it is empty. */
export async function* once(columns: readonly Column[]): AsyncGenerator<InputBatch> {
  if (columns[0].length > 0) yield { columns, rowCount: columns[0].length };
}

/** A column of an open file. */
interface StoredColumn {
  readonly field: TableField;
  readonly plan: LeafPlan;
  readonly stored: OpenColumns;
}

/** An open file of an index. */
export class OpenIndexFile {
  private constructor(
    private readonly files: IndexFiles,
    readonly metadata: DataFileMetadata,
    private readonly columns: ReadonlyMap<string, StoredColumn>,
  ) {}

  /**
   * Opens a file.
   * @param columns that the file must have; the reader accepts any nullability
   * @throws UnsupportedError if a column is missing or has another type or an encoding of other releases;
   *   CorruptFileError
   */
  static async open(
    files: IndexFiles,
    name: string,
    columns: readonly FileColumnType[],
  ): Promise<OpenIndexFile> {
    const metadata = await files.open(name);
    const { fields, file } = columnsOfFile(metadata);
    const presentColumns = new Map<string, StoredColumn>();
    for (const column of columns) {
      const named = (name: string | undefined) => fields.find((candidate) => candidate.name === name);
      const field = named(column.name) ?? named(column.legacyName);
      if (field === undefined && column.isOptional === true) continue;
      if (field === undefined || !isSameType(field.type, column.type)) {
        const wanted = `no column ${column.name} of type ${formatType(column.type)}`;
        throw new UnsupportedError(`${metadata.path} has ${wanted}`);
      }
      const plan = planLeaves([[field]]);
      const stored = await openColumns([file], plan.leaves);
      if (stored.some((each) => each?.pages.some(({ layout }) => !isKnownEncoding(layout)))) {
        const problem = "has pages in an encoding that this release does not read";
        throw new UnsupportedError(`${metadata.path} ${problem}`);
      }
      presentColumns.set(column.name, { field, plan, stored });
    }
    return new OpenIndexFile(files, metadata, presentColumns);
  }

  get rowCount(): number {
    return this.metadata.rowCount;
  }

  get path(): string {
    return this.metadata.path;
  }

  /** Prefix of the cache keys of this file. */
  get cacheKey(): string {
    return `${this.metadata.path}|${this.metadata.identity}|`;
  }

  /** Returns the bytes of the pages of some columns. */
  byteLength(names: readonly string[]): number {
    const pages = names.flatMap((name) => this.#of(name).stored.flatMap((column) => column?.pages ?? []));
    return pages.reduce((sum, page) => page.bufferRanges.reduce((all, { length }) => all + length, sum), 0);
  }

  fail(reason: string): never {
    throw new CorruptFileError(this.path, 0, reason);
  }

  /** True if the file has this optional column. */
  has(name: string): boolean {
    return this.columns.has(name);
  }

  /** Returns a value of the schema's metadata as bytes; null if absent. */
  metadataBytes(name: string): Uint8Array | null {
    return this.metadata.descriptor.schema?.metadata.get(name) ?? null;
  }

  /** Returns a value of the schema's metadata as text; null if absent. */
  text(name: string): string | null {
    const bytes = this.metadataBytes(name);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }

  /** Returns a positive integer of the metadata. @throws CorruptFileError if it is not from 1 to `max` */
  count(name: string, fallback: number, max: number): number {
    const text = this.text(name);
    if (text === null) return fallback;
    const count = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > max)
      this.fail(`the metadata ${name} is ${text}, not an integer from 1 to ${max}`);
    return count;
  }

  /** @throws CorruptFileError if the file has no such buffer */
  async globalBuffer(number: number): Promise<{ bytes: Uint8Array; byteOffset: number }> {
    const { content, globalBuffers } = this.metadata;
    const bytes =
      content === null
        ? await this.files.source.handles.withHandle(this.path, (handle) =>
            readGlobalBuffer(handle, this.metadata, number),
          )
        : globalBufferOf(this.metadata, content, number);
    return { bytes, byteOffset: globalBuffers[number].byteOffset };
  }

  /** Reads all values of a column. */
  async column(name: string, signal?: AbortSignal): Promise<Column> {
    const [column] = await this.spans(name, [{ start: 0, end: this.rowCount }], signal);
    return column;
  }

  /** Reads one column per span of rows, each in memory of its own. Adjacent spans share a read. */
  async spans(name: string, spans: readonly RowSpan[], signal?: AbortSignal): Promise<Column[]> {
    const { plan, stored } = this.#of(name);
    const runs = runsOfSpans(spans);
    const parts: Column[][] = runs.map(() => []);
    const requests = runs.map(({ start, end }, index) => ({ stored, start, end, skipped: null, index }));
    const options = { batchRows: Number.MAX_SAFE_INTEGER, readAhead: STREAMED, signal };
    for await (const batch of readColumns(this.files.source, plan, requests, options)) {
      parts[batch.span.index].push(batch.columns[0]);
    }
    const { layout } = plan.outputs[0];
    return runs.flatMap((run, index) => {
      const columns = parts[index];
      const column = columns.length === 0 ? nullColumn(layout, 0) : concatColumns(columns);
      return run.spans.length === 1 ? [column] : run.spans.map((span) => copyRows(column, run, span));
    });
  }

  /** Reads a span of a column through the cache. One caller's abort does not stop a shared load. */
  async cachedSpan(key: string, name: string, span: RowSpan, signal?: AbortSignal): Promise<Column> {
    const load = async () => {
      const [value] = await this.spans(name, [span]);
      return { value, weight: columnBytes(value) + 128 };
    };
    const column = (await this.files.parts.get(key, load)) as Column;
    signal?.throwIfAborted();
    return column;
  }

  /** Reads single rows of a column. @param positions ascending and distinct */
  async take(name: string, positions: Uint32Array, signal?: AbortSignal): Promise<Column> {
    const { plan, stored } = this.#of(name);
    const { columns } = await takeColumns(this.files.source, plan, stored, positions, signal);
    return columns[0];
  }

  /** Reads rows of several columns in batches. */
  async *batches(
    names: readonly string[],
    batchRows: number,
    signal?: AbortSignal,
  ): AsyncGenerator<InputBatch> {
    const plan = planLeaves(names.map((name) => [this.#of(name).field]));
    const stored = names.flatMap((name) => [...this.#of(name).stored]);
    const span = { stored, start: 0, end: this.rowCount, skipped: null };
    const options = { batchRows, readAhead: STREAMED, signal };
    for await (const { columns, rowCount } of readColumns(this.files.source, plan, [span], options)) {
      yield { columns, rowCount };
    }
  }

  #of(name: string): StoredColumn {
    return this.columns.get(name) as StoredColumn;
  }
}

interface RowSpan {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

interface SpanRun extends RowSpan {
  readonly spans: readonly RowSpan[];
}

/** Maximum number of rows of adjacent spans in one read. */
const MAX_RUN_ROWS = 65_536;

/** Groups adjacent spans. */
function runsOfSpans(spans: readonly RowSpan[]): SpanRun[] {
  const runs: SpanRun[] = [];
  for (let first = 0, next = 0; first < spans.length; first = next) {
    const { start } = spans[first];
    let { end } = spans[first];
    for (next = first + 1; next < spans.length; next++) {
      if (spans[next].start !== end || spans[next].end - start > MAX_RUN_ROWS) break;
      end = spans[next].end;
    }
    runs.push({ start, end, spans: spans.slice(first, next) });
  }
  return runs;
}

/** Copies some rows of a run: a cached view would keep the whole run in memory. */
const copyRows = (column: Column, run: RowSpan, { start, end }: RowSpan): Column =>
  concatColumns([sliceColumn(column, start - run.start, end - start), sliceColumn(column, 0, 0)]);
