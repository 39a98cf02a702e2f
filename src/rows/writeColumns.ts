/** Writes batches of rows to data files by a plan. A failure removes the incomplete file. */

import { columnBytes } from "../arrow/columns/columnBytes.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import type { InputBatch } from "../arrow/exchange/input.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import type { WorkerPool } from "../async/workerPool.js";
import type { FileColumn, FileVersion } from "../file/container/page.js";
import { DataFileWriter, MAX_BARE_FILE_ROWS, MAX_FILE_ROWS } from "../file/writing/writer.js";
import type { Disk } from "../io/disk/disk.js";
import type { ScratchMemory } from "../io/memory/scratch.js";
import { encodeFileSchema } from "../schema/schemaEncoder.js";
import { type ColumnPlan, checkVersion } from "./columnPlan.js";
import { type ConversionBounds, convertColumns } from "./convertColumns.js";
import { withHeaderColumns } from "./headerColumns.js";

export interface WriteOptions extends ConversionBounds {
  readonly version: FileVersion;
  /** Threads that encode pages. Default: this thread encodes them. */
  readonly pool?: WorkerPool;
  readonly signal?: AbortSignal;
}

export interface SingleFileOptions extends WriteOptions {
  /** Lends memory for copies of transient rows if there are no threads. Default: new memory. */
  readonly scratch?: ScratchMemory;
  /** Called after the last row. It may add global buffers and schema metadata. */
  readonly beforeEnd?: (file: DataFileWriter) => Promise<void> | void;
}

/** A complete file. */
export interface WrittenFile {
  /** Columns in the order of the file. */
  readonly columns: readonly FileColumn[];
  readonly rowCount: number;
  readonly byteLength: number;
}

/**
 * Writes a file that belongs to no table, such as one of an index. Its bytes then survive a power cut; the
 * caller must sync its name.
 *
 *     const plan = planNewColumns(new Schema([new Field("value", new Int64())]));
 *     await writeColumns(disk, path, plan, batches, {
 *       version: "2.2",
 *       beforeEnd: async (file) => file.addMetadata("model", String(await file.addGlobalBuffer(bytes))),
 *     });
 *
 * @param path whose name must be free, in a directory that exists
 * @param plan of columns without blobs, if there are global buffers
 * @param batches together {@link MAX_BARE_FILE_ROWS} rows at most; nobody may write into the memory of those
 *   that are not transient until the file is finished
 * @throws UnsupportedError for columns that files of the version cannot hold, TableSchemaValidationError
 *   where a batch holds nulls in a column that is not nullable; the signal's reason
 */
export async function writeColumns(
  disk: Disk,
  path: string,
  plan: ColumnPlan,
  batches: AsyncIterable<InputBatch>,
  options: SingleFileOptions,
): Promise<WrittenFile> {
  const { version, memory, pool, scratch, signal, beforeEnd } = options;
  checkVersion(plan, version);
  const stored = physicalPlan(plan, version);
  const columns = stored.columns.map(({ target }) => target);
  const schema = { fields: encodeFileSchema(plan.fields), metadata: new Map() };
  const file = await DataFileWriter.create(disk, path, columns, schema, version, { memory, pool, scratch });
  try {
    for await (const batch of batches) {
      signal?.throwIfAborted();
      await yieldToEventLoop();
      const columns = await convertColumns(stored, batch.columns, options);
      await file.write(columns, batch.rowCount, batch.isTransient);
    }
    await beforeEnd?.(file);
    return { columns, ...(await file.finish()) };
  } catch (error) {
    await abandon(file);
    throw error;
  }
}

export interface FilesOptions extends WriteOptions {
  /** Creates the next file. If this fails, the caller removes what is left, as it removes complete files. */
  readonly createFile: (columns: readonly FileColumn[]) => Promise<DataFileWriter>;
  /** Rows of a file. Default: MAX_BARE_FILE_ROWS for batches without bytes, else MAX_FILE_ROWS. */
  readonly fileRows?: number;
}

/**
 * Writes rows to as many files as they take, one after the other; to none if there are no rows.
 * @param plan of columns that files of the version can hold (`checkVersion`)
 * @throws TableSchemaValidationError if a batch has nulls in a column that is not nullable
 */
export async function writeFiles(
  plan: ColumnPlan,
  batches: AsyncIterable<InputBatch>,
  options: FilesOptions,
): Promise<WrittenFile[]> {
  const stored = physicalPlan(plan, options.version);
  const fileColumns = stored.columns.map(({ target }) => target);
  const files: WrittenFile[] = [];
  let writer: DataFileWriter | null = null;
  let rowsInFile = 0;
  const finishFile = async (open: DataFileWriter): Promise<void> => {
    files.push({ columns: fileColumns, ...(await open.finish()) });
    writer = null;
    rowsInFile = 0;
  };
  try {
    for await (const batch of batches) {
      options.signal?.throwIfAborted();
      await yieldToEventLoop();
      const columns = await convertColumns(stored, batch.columns, options);
      // There may be very many rows without bytes: with files of the usual length, there would be too many
      // files.
      const isBare = columns.every((column) => columnBytes(column) === 0);
      const fileRows = options.fileRows ?? (isBare ? MAX_BARE_FILE_ROWS : MAX_FILE_ROWS);
      let start = 0;
      while (start < batch.rowCount) {
        if (writer !== null && rowsInFile >= fileRows) await finishFile(writer);
        writer ??= await options.createFile(fileColumns);
        const count = Math.min(batch.rowCount - start, fileRows - rowsInFile);
        const whole = start === 0 && count === batch.rowCount;
        await writer.write(
          whole ? columns : columns.map((column) => sliceColumn(column, start, count)),
          count,
          batch.isTransient,
        );
        start += count;
        rowsInFile += count;
        if (rowsInFile === fileRows) await finishFile(writer);
      }
    }
    if (writer !== null) await finishFile(writer);
    return files;
  } catch (error) {
    if (writer !== null) await abandon(writer);
    throw error;
  }
}

/**
 * Ignores a failure: the caller throws the error of the write, and a file that cannot be removed is only an
 * orphan.
 */
async function abandon(file: DataFileWriter): Promise<void> {
  await file.abort().catch(() => undefined);
}

/** Returns the plan with a column for each one that files of the version have. */
const physicalPlan = (plan: ColumnPlan, version: FileVersion): ColumnPlan =>
  version === "2.0" ? withHeaderColumns(plan) : plan;
