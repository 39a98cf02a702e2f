/**
 * Writes a segment of an index: its files, in a directory that nothing refers to until a version names it. A
 * random id names the directory; each build, merge and remapping makes another.
 */

import { ConcurrentModificationError, NamespaceError } from "../../errors.js";
import { isFileVersion } from "../../file/container/container.js";
import type { FileVersion } from "../../file/container/page.js";
import { Any } from "../../format/file.js";
import { IndexFile, IndexMetadata, type RewrittenIndex, Uuid } from "../../format/table.js";
import type { BuildableKind, IndexParameters, IndexTarget, WrittenFiles } from "../../indexes/kind.js";
import { codeOf } from "../../io/disk/errno.js";
import { TemporaryFile } from "../../io/temporaryFile.js";
import { join } from "../../platform/native.js";
import { withCoverage } from "../../table/commit/indexCoverage.js";
import { TableGoneError } from "../../table/versions/identity.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { indexDirectoryName, indicesDirectory } from "../../table/versions/paths.js";
import type { VersionsAt } from "../../table/versions/versions.js";
import { rowSorter } from "./indexRows.js";

/** Properties of a kind that a segment records. */
type SegmentKind = Pick<BuildableKind, "typeUrl" | "details" | "indexVersion" | "versionOf">;

/** A segment whose files are complete and survive a power cut. */
export interface WrittenSegment {
  readonly kind: SegmentKind;
  readonly field: IndexTarget["field"];
  readonly parameters: IndexParameters;
  readonly uuid: Uuid;
  readonly files: WrittenFiles;
  /** True if all the files are still in place and complete. */
  areInPlace(): Promise<boolean>;
  /** Removes the files; call it if no version names them. */
  discard(): Promise<void>;
}

export interface SegmentOptions {
  readonly kind: SegmentKind;
  readonly field: IndexTarget["field"];
  readonly parameters?: IndexParameters;
  /** Threads for long work, and memory for it. Default: the work is done in line, in new memory. */
  readonly environment?: Pick<IndexTarget, "workers" | "scratch">;
  /** Approximate number of rows, for kinds for vectors. Default 0. */
  readonly rowCount?: number;
  readonly progress?: (doneRows: number) => void;
  readonly signal?: AbortSignal;
  /** Called with the name of the directory before it is made. */
  readonly announce?: (directoryName: string) => Promise<void>;
}

/** @throws TableGoneError, ConcurrentModificationError if the table's directory is removed meanwhile */
export async function writeSegment(
  { table, file }: { readonly table: VersionsAt; readonly file: ManifestFile },
  { kind, field, parameters = {}, environment, rowCount = 0, progress, signal, announce }: SegmentOptions,
  write: (target: IndexTarget) => Promise<WrittenFiles>,
): Promise<WrittenSegment> {
  const { disk, root } = table;
  const uuid = newUuid();
  const name = indexDirectoryName(uuid);
  const directory = join(indicesDirectory(root), name);
  await announce?.(name);
  const discard = () => disk.removeTree(directory);
  let files: WrittenFiles;
  try {
    await disk.makeDirectory(directory, root);
    const fileVersion = indexFileVersion(file);
    const { workers, scratch } = environment ?? {};
    const target = { disk, directory, fileVersion, field, parameters, rowCount, progress, signal };
    const temporaryFile = () => TemporaryFile.create(disk, root);
    const sort = rowSorter(table, { scratch, signal });
    files = await write({ ...target, workers, scratch, sort, temporaryFile });
    await disk.syncDirectory(directory);
  } catch (error) {
    // The caller gets the first error; files that can't be removed are only orphans.
    await discard().catch(() => undefined);
    if (codeOf(error) !== "ENOENT" || error instanceof NamespaceError) throw error;
    if ((await disk.stat(root)) === null) throw new TableGoneError(root, { cause: error });
    throw new ConcurrentModificationError(`${root}: files of an index were removed while it was written`, {
      cause: error,
    });
  }
  const areInPlace = async (): Promise<boolean> => {
    const stats = await Promise.all(files.map((file) => disk.stat(join(directory, file.name))));
    return stats.every((stat, index) => stat?.size === files[index].byteLength);
  };
  return { kind, field, parameters, uuid: Uuid.create({ uuid }), files, areInPlace, discard };
}

/** Returns the file version of the index: the table's if it can be written, as in LanceDB, else 2.2. */
function indexFileVersion({ manifest }: ManifestFile): FileVersion {
  const version = manifest.dataFormat?.version ?? "";
  return isFileVersion(version) ? version : "2.2";
}

/** Returns the bytes of a random UUID. */
export function newUuid(): Uint8Array {
  const uuid = crypto.getRandomValues(new Uint8Array(16));
  uuid[6] = (uuid[6] & 0x0f) | 0x40;
  uuid[8] = (uuid[8] & 0x3f) | 0x80;
  return uuid;
}

const filesOf = ({ files }: WrittenSegment): IndexFile[] =>
  files.map(({ name, byteLength }) => IndexFile.create({ path: name, sizeBytes: byteLength }));

const detailsOf = ({ kind, parameters, field }: WrittenSegment): Any =>
  Any.create({ typeUrl: kind.typeUrl, value: kind.details?.(parameters, field) ?? new Uint8Array(0) });

const versionOf = ({ kind, parameters }: WrittenSegment): number =>
  kind.versionOf?.(parameters) ?? kind.indexVersion;

/** Makes the metadata of a segment for the manifest. */
export function segmentMetadata(
  segment: WrittenSegment,
  index: {
    readonly name: string;
    readonly fieldId: number;
    /** Version whose rows the segment was built from. */
    readonly datasetVersion: number;
    readonly createdAt: number;
    readonly fragmentIds: Iterable<number>;
  },
): IndexMetadata {
  const { name, fieldId, datasetVersion, createdAt, fragmentIds } = index;
  const metadata = IndexMetadata.create({
    uuid: segment.uuid,
    fields: [fieldId],
    name,
    datasetVersion,
    createdAt,
    indexDetails: detailsOf(segment),
    indexVersion: versionOf(segment),
    files: filesOf(segment),
  });
  return withCoverage(metadata, fragmentIds);
}

/** Makes the record of a segment that replaces another in a compaction. */
export const rewrittenIndex = (oldId: Uuid | undefined, segment: WrittenSegment): RewrittenIndex => ({
  oldId,
  newId: segment.uuid,
  newIndexDetails: detailsOf(segment),
  newIndexVersion: versionOf(segment),
  newIndexFiles: filesOf(segment),
});
