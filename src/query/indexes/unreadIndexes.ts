/** Indexes that this release cannot read. Queries scan instead; plans name them; the host is told once. */

import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { DataFileMetadata } from "../../file/container/reader.js";
import type { IndexMetadata } from "../../format/table.js";
import type { Disk } from "../../io/disk/disk.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { indexDirectoryName, isFileName } from "../../table/versions/paths.js";

/** An index segment that a query skipped. */
export interface UnreadIndex {
  /** Directory of the table or branch. */
  readonly location: string;
  readonly name: string;
  /** Name of the segment's directory. */
  readonly segment: string;
  /** Reason, as the end of a sentence, with file names but no directories. */
  readonly reason: string;
}

export const unreadIndex = (
  location: string,
  { name, uuid }: IndexMetadata,
  reason: string,
): UnreadIndex => ({
  location,
  name,
  segment: uuid === undefined ? "" : indexDirectoryName(uuid.uuid),
  reason,
});

/**
 * Returns the reason why a segment cannot be read, from its manifest entry; null if its files decide.
 * @param maxVersion highest format version of its kind that this release reads
 * @throws CorruptFileError
 */
export function entryRefusal(entry: IndexMetadata, maxVersion: number): string | null {
  const { fields, coveringFields, indexVersion = 0, unknown } = entry;
  if (fields.length !== 1) return `it is on ${fields.length} columns`;
  if (coveringFields.length > 0) return "it also keeps values of other columns";
  if (indexVersion < 0 || indexVersion > maxVersion) {
    return `its format has version ${indexVersion}; this release reads up to ${maxVersion}`;
  }
  if (unknown !== undefined) return "its entry has members that this release does not know";
  if (coverageOf(entry) === null) return "it does not say which fragments it covers";
  return null;
}

/** Opens the files of a segment. */
export interface SegmentFilesSource {
  stat(path: string): Promise<{ readonly size: number } | null>;
  openDataFile(path: string): DataFileMetadata | Promise<DataFileMetadata>;
}

/**
 * Opens a file of a segment. A file with a recorded size must exist, unless the whole directory is gone.
 * @throws UnsupportedError for a missing or empty file, or an unknown format version; CorruptFileError
 */
export async function openSegmentFile(
  { stat, openDataFile }: SegmentFilesSource,
  directory: string,
  name: string,
  { files }: IndexMetadata,
): Promise<DataFileMetadata> {
  if (!isFileName(name)) throw new UnsupportedError(`${directory}/ should hold ${JSON.stringify(name)}`);
  const path = `${directory}/${name}`;
  const recorded = files.find((file) => file.path === name)?.sizeBytes;
  let file: DataFileMetadata;
  try {
    file = await openDataFile(path);
  } catch (error) {
    // Only a failure needs a look at the file: opening it tells its size.
    const isDamaged = error instanceof CorruptFileError || error instanceof UnsupportedError;
    if (isDamaged) await checkPresent(stat, directory, path, recorded);
    throw error;
  }
  checkSize(path, file.byteLength, recorded);
  if (file.legacy !== undefined) throw new UnsupportedError(`${path} has the data format version 0.1`);
  return file;
}

/** @throws UnsupportedError for a missing or empty file; CorruptFileError if the manifest says otherwise */
async function checkPresent(
  stat: SegmentFilesSource["stat"],
  directory: string,
  path: string,
  recorded: number | undefined,
): Promise<void> {
  const size = (await stat(path))?.size ?? null;
  if (size === 0) throw new UnsupportedError(`${path} is empty`);
  if (size !== null) return checkSize(path, size, recorded);
  if (recorded === undefined || (await stat(directory)) === null) {
    throw new UnsupportedError(`${path} is missing`);
  }
  throw new CorruptFileError(path, 0, "the file of an index is missing");
}

function checkSize(path: string, size: number, recorded: number | undefined): void {
  if (recorded === undefined || recorded === size) return;
  throw new CorruptFileError(path, 0, `it has ${size} bytes, the manifest says ${recorded}`);
}

/** True if a segment has a file, or the manifest records it. */
export const hasSegmentFile = async (
  { stat }: Pick<SegmentFilesSource, "stat">,
  directory: string,
  name: string,
  { files }: IndexMetadata,
): Promise<boolean> =>
  files.some(({ path }) => path === name) || (await stat(`${directory}/${name}`)) !== null;

/** Returns the names of the files of a segment: those that the manifest records, or all in its directory. */
export async function segmentFileNames(
  { list }: Pick<Disk, "list">,
  directory: string,
  { files }: IndexMetadata,
): Promise<string[]> {
  if (files.length > 0) return files.map(({ path }) => path);
  return ((await list(directory)) ?? []).map(({ name }) => name);
}

/** Returns the reason from an error about a segment's files. */
export const reasonOf = ({ message }: UnsupportedError, directory: string): string =>
  message.replaceAll(`${directory}/`, "");
