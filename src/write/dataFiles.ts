/** Writes rows as data files, which are invisible until a manifest names them. Removes them on failure. */

import { isEmptyStruct } from "../arrow/columns/column.js";
import { leafOf } from "../arrow/columns/spine.js";
import type { InputBatch } from "../arrow/exchange/input.js";
import { ConcurrentModificationError, NamespaceError, UnsupportedError } from "../errors.js";
import { sideFileDirectory } from "../file/blobs/blobDescriptors.js";
import { isFileVersion, unsupportedFileVersion } from "../file/container/container.js";
import type { FileColumn, FileVersion } from "../file/container/page.js";
import { DataFileWriter, type WriterOptions } from "../file/writing/writer.js";
import type { Schema as FileSchema } from "../format/file.js";
import { DataFragment, type Manifest } from "../format/table.js";
import type { Disk } from "../io/disk/disk.js";
import { codeOf } from "../io/disk/errno.js";
import { join } from "../platform/native.js";
import type { ColumnPlan } from "../rows/columnPlan.js";
import { type FilesOptions, type WrittenFile, writeFiles } from "../rows/writeColumns.js";
import type { TableField } from "../schema/schema.js";
import { encodeFileSchema } from "../schema/schemaEncoder.js";
import { TableGoneError } from "../table/versions/identity.js";
import type { ManifestFile } from "../table/versions/manifest.js";
import { dataDirectory, dataFileName } from "../table/versions/paths.js";
import type { OpenVersion } from "../table/versions/tableAt.js";

/** Attempts to create a file in a directory that others may remove while it is empty. */
const MAX_CREATE_ATTEMPTS = 3;

export interface WrittenRows {
  /** One fragment per file, without ids. */
  readonly fragments: DataFragment[];
  readonly rowCount: number;
  /** True if all the files are still in place and complete. */
  areInPlace(): Promise<boolean>;
  /**
   * Removes the files after a failed commit.
   * @param kept names of files that stay
   */
  discard(kept?: ReadonlySet<string>): Promise<void>;
}

/** Counts the bytes of files while they are written. */
export class WriteMeter {
  readonly #writers: DataFileWriter[] = [];

  /** Adds a file. */
  add(writer: DataFileWriter): void {
    this.#writers.push(writer);
  }

  /** Bytes of all files so far. */
  get byteLength(): number {
    return this.#writers.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }
}

export interface WriteRowsOptions
  extends Omit<FilesOptions, "createFile">,
    Pick<WriterOptions, "expectedRows" | "lastPageBytes" | "scratch"> {
  /** Schema descriptor of every file. */
  readonly descriptor: FileSchema;
  /** Directory that is not created if it is missing: that of an existing table. Default: none. */
  readonly within?: string;
  /** Collects the writers of the files. */
  readonly meter?: WriteMeter;
  /** Version that the rows change. If it has data files here, their directory is permanent. */
  readonly base?: Manifest;
}

/**
 * Writes all rows.
 * @throws TableSchemaValidationError if a batch holds nulls in a column that is not nullable
 * @throws ConcurrentModificationError, TableGoneError if the directory is removed meanwhile
 */
export async function writeRows(
  disk: Disk,
  tableRoot: string,
  plan: ColumnPlan,
  batches: AsyncIterable<InputBatch>,
  options: WriteRowsOptions,
): Promise<WrittenRows> {
  const { version, descriptor, memory, pool, within, expectedRows, lastPageBytes, scratch } = options;
  const writing = { memory, pool, expectedRows, lastPageBytes, scratch };
  const directory = dataDirectory(tableRoot);
  const hasSideFiles = plan.columns.some(({ target }) => target.blobs?.kind === "bySize");
  const isMade = options.base?.fragments.some(hasFileHere) === true;
  /** Names of the files, including the unfinished one. */
  const names: string[] = [];
  const createFile = async (columns: readonly FileColumn[]): Promise<DataFileWriter> => {
    const name = dataFileName();
    names.push(name);
    for (let attempt = 1; ; attempt++) {
      try {
        if ((names.length === 1 && !isMade) || attempt > 1) await disk.makeDirectory(directory, within);
        const path = join(directory, name);
        const writer = await DataFileWriter.create(disk, path, columns, descriptor, version, writing);
        options.meter?.add(writer);
        return writer;
      } catch (error) {
        // A failed writer removed the directory because it was empty, or is removing it.
        const code = codeOf(error);
        if ((code !== "ENOENT" && code !== "EEXIST") || attempt === MAX_CREATE_ATTEMPTS) throw error;
      }
    }
  };
  const discard = async (kept?: ReadonlySet<string>): Promise<void> => {
    const unwanted = names.filter((name) => kept?.has(name) !== true);
    await Promise.all(
      unwanted.map(async (name) => {
        const path = join(directory, name);
        if (hasSideFiles) await disk.removeTree(sideFileDirectory(path));
        await disk.remove(path);
      }),
    );
    if (unwanted.length > 0) await disk.removeEmptyDirectory(directory);
  };
  let files: WrittenFile[];
  try {
    files = await writeFiles(plan, batches, { ...options, createFile });
    if (names.length > 0) await disk.syncDirectory(directory);
  } catch (error) {
    // The caller gets the first error; a file that can't be removed is only an orphan.
    await discard().catch(() => undefined);
    if (codeOf(error) !== "ENOENT" || error instanceof NamespaceError) throw error;
    if (within !== undefined && (await disk.stat(within)) === null) {
      throw new TableGoneError(tableRoot, { cause: error });
    }
    throw new ConcurrentModificationError(`${tableRoot} was dropped while rows were written to it`, {
      cause: error,
    });
  }
  const areInPlace = async (): Promise<boolean> => {
    const stats = await Promise.all(names.map((name) => disk.stat(join(directory, name))));
    // A copy of the directory that was taken during the write may hold a shorter file.
    return stats.every((stat, index) => stat?.size === files[index].byteLength);
  };
  return {
    fragments: files.map((file, index) => fragmentOf(names[index], file, version)),
    rowCount: files.reduce((sum, { rowCount }) => sum + rowCount, 0),
    areInPlace,
    discard,
  };
}

/**
 * Returns the version of data files that the table's manifest demands.
 * @throws UnsupportedError if the manifest names none, or one that this build does not write
 */
export function fileVersionOf(file: ManifestFile): FileVersion {
  const version = file.manifest.dataFormat?.version;
  if (version === undefined) {
    throw new UnsupportedError(`${file.path}: writing to tables without a data format is not supported`);
  }
  if (!isFileVersion(version)) throw unsupportedFileVersion(version, file.path);
  return version;
}

/** Writes rows to a table for a change of a version, which has the fields. */
export const writeTableRows = (
  { table, file }: OpenVersion,
  fields: readonly TableField[],
  plan: ColumnPlan,
  batches: AsyncIterable<InputBatch>,
  options: Omit<WriteRowsOptions, "version" | "descriptor" | "within">,
): Promise<WrittenRows> =>
  writeRows(table.disk, table.root, plan, batches, {
    version: fileVersionOf(file),
    descriptor: { fields: encodeFileSchema(fields), metadata: file.manifest.schemaMetadata },
    within: table.root,
    ...options,
  });

/** True if a fragment has a file in the directory of the table or branch itself. */
const hasFileHere = ({ files }: DataFragment): boolean => files.some(({ baseId }) => baseId === undefined);

/** Makes the fragment of a file. Structs without members come last (emptyStruct.ts tells why). */
function fragmentOf(
  fileName: string,
  { columns, rowCount, byteLength }: WrittenFile,
  version: FileVersion,
): DataFragment {
  const [major, minor] = version.split(".").map(Number);
  const indexes = [...columns.keys()];
  const isApart = (index: number) => version !== "2.0" && isEmptyStruct(leafOf(columns[index].layout));
  const parts = [indexes.filter((index) => !isApart(index)), indexes.filter(isApart)];
  return DataFragment.create({
    files: parts
      .filter((columnIndices) => columnIndices.length > 0)
      .map((columnIndices) => ({
        path: fileName,
        fields: columnIndices.map((index) => columns[index].fieldId),
        columnIndices,
        fileMajorVersion: major,
        fileMinorVersion: minor,
        fileSizeBytes: byteLength,
        baseId: undefined,
      })),
    physicalRows: rowCount,
  });
}
