/**
 * Writes incoming rows as data files of a table, batch by batch. The files are invisible until a manifest names them;
 * on any failure they are removed again.
 */

import {
  type Column,
  isEmptyStruct,
  type LeafColumn,
  type LeafLayout,
  type PackedMemberColumn,
} from "../arrow/columns/column.js";
import { decodeDictionary, decodedBytes, hasNulls } from "../arrow/columns/dictionaries.js";
import { checkedJsonbColumn, jsonbColumn } from "../arrow/columns/json.js";
import { nullColumn } from "../arrow/columns/nullColumn.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { leafOf, mapLeaf, pruneColumn } from "../arrow/columns/spine.js";
import type { ArrowInput } from "../arrow/exchange/input.js";
import { breathe } from "../async/eventLoop.js";
import {
  ConcurrentModificationError,
  InternalError,
  InvalidInputError,
  NamespaceError,
  TableSchemaValidationError,
} from "../errors.js";
import { sideDirectory } from "../file/blobs/blobDescriptors.js";
import type { FileColumn, FileVersion } from "../file/container/page.js";
import { columnBytes, DataFileWriter, MAX_BARE_FILE_ROWS, MAX_FILE_ROWS } from "../file/writing/writer.js";
import type { Schema as FileSchema } from "../format/file.js";
import { DataFragment } from "../format/table.js";
import type { Disk } from "../io/disk/disk.js";
import { codeOf } from "../io/disk/errno.js";
import type { MemoryShare } from "../memory.js";
import { join } from "../platform/native.js";
import { TableGoneError } from "../table/versions/identity.js";
import { dataDirectory, dataFileName } from "../table/versions/paths.js";
import type { ColumnPlan, Conversion, PlannedColumn } from "../rows/columnPlan.js";
import { headerColumn, withHeaderColumns } from "../rows/headerColumns.js";

/** Attempts to create a file in a directory that others may remove while it is empty. */
const MAX_CREATE_ATTEMPTS = 3;

/** Number of bytes that 32-bit offsets can address. */
const MAX_DECODED_BYTES = 2 ** 31 - 1;
/** Name of this use of memory. */
const DECODED = "decoded";

export interface WrittenRows {
  /** One fragment per file, without ids. */
  readonly fragments: DataFragment[];
  readonly rowCount: number;
  /** Whether all the files are still where they were written, and complete. */
  areInPlace(): Promise<boolean>;
  /** Removes the files; for when the commit failed. */
  discard(): Promise<void>;
}

export interface WriteRowsOptions {
  readonly version: FileVersion;
  /** The schema descriptor of every file. */
  readonly descriptor: FileSchema;
  /** A directory that is not created if it is missing: that of a table which exists. Default: none. */
  readonly within?: string;
  /**
   * Rows of a file, at most {@link MAX_BARE_FILE_ROWS}. Default: {@link MAX_BARE_FILE_ROWS} for batches without bytes,
   * else {@link MAX_FILE_ROWS}.
   */
  readonly fileRows?: number;
  /** Maximum decoded bytes of the dictionaries of one batch where the table has plain values. Default: 2 GiB. */
  readonly maxDecodedBytes?: number;
  /** Accounts for the memory of rows that wait to be written. */
  readonly memory?: MemoryShare;
  readonly signal?: AbortSignal;
}

/**
 * Writes all rows of `input`.
 * @param tableRoot directory of the table or branch
 * @throws TableSchemaValidationError where a batch holds nulls in a column that is not nullable
 * @throws ConcurrentModificationError, TableGoneError where the directory is removed meanwhile
 */
export async function writeRows(
  disk: Disk,
  tableRoot: string,
  leaves: ColumnPlan,
  input: ArrowInput,
  options: WriteRowsOptions,
): Promise<WrittenRows> {
  const plan = options.version === "2.0" ? withHeaderColumns(leaves) : leaves;
  const directory = dataDirectory(tableRoot);
  const fileColumns = plan.columns.map((column) => column.target);
  const hasSideFiles = fileColumns.some((column) => column.blobs?.kind === "bySize");
  const written: string[] = [];
  /** Bytes of each complete file, by name. */
  const byteLengths = new Map<string, number>();
  const fragments: DataFragment[] = [];
  let writer: DataFileWriter | null = null;
  let fileName = "";
  let rowsInFile = 0;
  let rowCount = 0;

  const createFile = async (path: string): Promise<DataFileWriter> => {
    for (let attempt = 1; ; attempt++) {
      try {
        if (written.length === 1 || attempt > 1) await disk.makeDirectory(directory, options.within);
        const { descriptor, version, memory } = options;
        return await DataFileWriter.create(disk, path, fileColumns, descriptor, version, memory);
      } catch (error) {
        // A failing writer has just removed the directory because it was empty, or is removing it.
        const code = codeOf(error);
        if ((code !== "ENOENT" && code !== "EEXIST") || attempt === MAX_CREATE_ATTEMPTS) throw error;
      }
    }
  };
  const finishFile = async (open: DataFileWriter): Promise<void> => {
    const { byteLength } = await open.finish();
    byteLengths.set(fileName, byteLength);
    fragments.push(fragmentOf(fileName, plan, options.version, rowsInFile, byteLength));
    writer = null;
    rowsInFile = 0;
  };
  const discard = async (): Promise<void> => {
    await Promise.all(
      written.map(async (name) => {
        const path = join(directory, name);
        if (hasSideFiles) await disk.removeTree(sideDirectory(path));
        await disk.remove(path);
      }),
    );
    if (written.length > 0) await disk.removeEmptyDirectory(directory);
  };

  try {
    for await (const batch of input.batches) {
      options.signal?.throwIfAborted();
      await breathe();
      await holdDecoded(plan, batch.columns, options);
      const columns = plan.columns.map((column) => incoming(column, batch.columns[column.sourceIndex]));
      // Rows without bytes easily become so many that files of the usual length would become too many.
      const isBare = columns.every((column) => columnBytes(column) === 0);
      const fileRows = options.fileRows ?? (isBare ? MAX_BARE_FILE_ROWS : MAX_FILE_ROWS);
      let start = 0;
      while (start < batch.rowCount) {
        if (writer !== null && rowsInFile >= fileRows) await finishFile(writer);
        if (writer === null) {
          fileName = dataFileName();
          written.push(fileName);
          writer = await createFile(join(directory, fileName));
        }
        const count = Math.min(batch.rowCount - start, fileRows - rowsInFile);
        const whole = start === 0 && count === batch.rowCount;
        await writer.write(
          whole ? columns : columns.map((column) => sliceColumn(column, start, count)),
          count,
        );
        start += count;
        rowsInFile += count;
        rowCount += count;
        if (rowsInFile === fileRows) await finishFile(writer);
      }
    }
    if (writer !== null) await finishFile(writer);
    if (written.length > 0) await disk.syncDirectory(directory);
  } catch (error) {
    // The error thrown is the one that kept the rows out; a file that can't be removed is only an orphan.
    await (writer as DataFileWriter | null)?.abort().catch(() => undefined);
    await discard().catch(() => undefined);
    if (codeOf(error) !== "ENOENT" || error instanceof NamespaceError) throw error;
    const { within } = options;
    if (within !== undefined && (await disk.stat(within)) === null) {
      throw new TableGoneError(tableRoot, { cause: error });
    }
    throw new ConcurrentModificationError(`${tableRoot} was dropped while rows were written to it`, {
      cause: error,
    });
  }
  const areInPlace = async (): Promise<boolean> => {
    const stats = await Promise.all(written.map((name) => disk.stat(join(directory, name))));
    // In a copy of the directory that was taken while a file was written, the file is shorter.
    return stats.every((stat, index) => stat?.size === byteLengths.get(written[index]));
  };
  return { fragments, rowCount, areInPlace, discard };
}

/**
 * Waits for memory for the values of dictionaries, before any is built: each row may have the same long value.
 * @throws InvalidInputError where the values have too many bytes
 */
async function holdDecoded(
  { columns }: ColumnPlan,
  sources: readonly Column[],
  { memory, maxDecodedBytes = MAX_DECODED_BYTES }: WriteRowsOptions,
): Promise<void> {
  let bytes = 0;
  for (const { conversion, sourceIndex, branch, target } of columns) {
    if (conversion !== "decodeDictionary" || target.isHeader === true) continue;
    mapLeaf(pruneColumn(sources[sourceIndex], branch, target.layout), (leaf) => {
      if (leaf.kind === "dictionary") bytes += decodedBytes(leaf);
      return leaf;
    });
    if (bytes > maxDecodedBytes) {
      throw new InvalidInputError(
        `column ${target.path}: the values of its dictionary come to more than ${maxDecodedBytes} bytes in one batch`,
      );
    }
  }
  await memory?.hold(DECODED, bytes);
}

function incoming({ target, branch, conversion }: PlannedColumn, source: Column): Column {
  const spine =
    target.isHeader === true
      ? headerColumn(source, branch, target.layout)
      : pruneColumn(source, branch, target.layout);
  const column = conversion === "none" ? spine : mapLeaf(spine, (leaf) => convert(leaf, conversion, target));
  if (!target.nullable && hasNulls(column)) {
    throw new TableSchemaValidationError(`column ${target.path} is not nullable and the rows hold nulls`);
  }
  return column;
}

function convert(
  leaf: LeafColumn,
  conversion: Exclude<Conversion, "none">,
  { path, layout }: FileColumn,
): Column {
  switch (conversion) {
    case "decodeDictionary":
      return leaf.kind === "dictionary" ? decodeDictionary(leaf) : leaf;
    case "encodeJson":
      return jsonbColumn(leaf, path);
    case "checkJson":
      return checkedJsonbColumn(leaf, path);
    case "wrapBlob":
      return wrapped(leaf, leafOf(layout));
  }
}

/** Makes structs whose first member holds the values and whose other members are null. */
function wrapped(leaf: LeafColumn, layout: LeafLayout): Column {
  if (layout.kind !== "packedStruct" || leaf.kind !== "variable") {
    throw new InternalError(`values of kind ${leaf.kind} for structs of kind ${layout.kind}`);
  }
  const { length, validity } = leaf;
  const others = layout.children.slice(1).map((member) => nullColumn(member.layout, length));
  return { kind: "packedStruct", length, validity, children: [leaf, ...(others as PackedMemberColumn[])] };
}

/**
 * Makes the fragment of a file. Structs without members come last, as if in a file of their own: emptyStruct.ts says
 * why.
 */
function fragmentOf(
  fileName: string,
  plan: ColumnPlan,
  version: FileVersion,
  rowCount: number,
  byteLength: number,
): DataFragment {
  const [major, minor] = version.split(".").map(Number);
  const indexes = [...plan.columns.keys()];
  const isApart = (index: number) =>
    version !== "2.0" && isEmptyStruct(leafOf(plan.columns[index].target.layout));
  const parts = [indexes.filter((index) => !isApart(index)), indexes.filter(isApart)];
  return DataFragment.create({
    files: parts
      .filter((columnIndices) => columnIndices.length > 0)
      .map((columnIndices) => ({
        path: fileName,
        fields: columnIndices.map((index) => plan.columns[index].target.fieldId),
        columnIndices,
        fileMajorVersion: major,
        fileMinorVersion: minor,
        fileSizeBytes: byteLength,
        baseId: undefined,
      })),
    physicalRows: rowCount,
  });
}
