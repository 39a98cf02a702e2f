/** Finds the usable indexes of a version and opens them. */

import { formatType, typeInText } from "../../arrow/types/type.js";
import { UnsupportedError } from "../../errors.js";
import type { DataFileMetadata } from "../../file/container/reader.js";
import type { PageSource } from "../../file/pages/pageRows.js";
import type { IndexMetadata } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { IndexFiles, IndexKind, IndexPart, OpenIndex } from "../../indexes/kind.js";
import { isVectorTypeUrl, kindOfTypeUrl } from "../../indexes/kinds/kinds.js";
import type { Disk } from "../../io/disk/disk.js";
import type { LruCache } from "../../io/memory/cache.js";
import type { TableField } from "../../schema/schema.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { DEFERRED_REMAP_INDEX } from "../../table/commit/indexEntries.js";
import { resolveIndexDirectory, statedIndexDirectory } from "../../table/fragments/fileLookup.js";
import { isSystemIndex } from "../../table/fragments/tableStatistics.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import {
  entryRefusal,
  hasSegmentFile,
  openSegmentFile,
  reasonOf,
  segmentFileNames,
  type UnreadIndex,
  unreadIndex,
} from "./unreadIndexes.js";

export interface IndexSegment {
  readonly metadata: IndexMetadata;
  /** Ids of the covered fragments of the version. */
  readonly covered: ReadonlySet<number>;
}

export interface UsableIndex {
  readonly name: string;
  readonly kind: IndexKind;
  /** Indexed column. */
  readonly field: TableField;
  readonly segments: readonly IndexSegment[];
}

/** Opens the files of a segment. */
interface SegmentOpener<Open> {
  readonly name: string;
  open(files: IndexFiles, field: TableField): Promise<Open>;
}

/** An open index in the cache, with its files. */
export interface CachedIndex {
  readonly index: Pick<OpenIndex, "memoryWeight">;
  readonly files: readonly { readonly path: string; readonly identity: string }[];
}

/** Dependencies of open indexes. */
export interface IndexEnvironment extends PageSource {
  readonly disk: Disk;
  openDataFile(path: string): DataFileMetadata | Promise<DataFileMetadata>;
  readonly openIndexes: LruCache<CachedIndex>;
  readonly indexParts: LruCache<IndexPart>;
  /** Receives each segment that a query skips because this release cannot read it. */
  readonly noteUnread?: (index: UnreadIndex) => void;
}

/** A segment that queries skip, and the reason. */
export interface UnreadSegment {
  readonly entry: IndexMetadata;
  /** Queries that it might answer: filters, full-text searches, or either. */
  readonly family: "values" | "words" | "unknown";
  readonly reason: string;
}

/** Indexes of a version by column path, without vector indexes. */
interface VersionIndexes {
  readonly usable: ReadonlyMap<string, readonly UsableIndex[]>;
  /** Segments that this release cannot read, as far as the manifest tells. */
  readonly unread: ReadonlyMap<string, readonly UnreadSegment[]>;
}

const indexesOfManifests = new WeakMap<ManifestFile, VersionIndexes>();

/**
 * Returns the indexes of a version.
 * @param fields of the version
 * @throws CorruptFileError for an index with invalid coverage
 */
export function indexesOf(file: ManifestFile, fields: readonly TableField[]): VersionIndexes {
  let indexes = indexesOfManifests.get(file);
  if (indexes === undefined) {
    indexes = findIndexes(file, fields);
    indexesOfManifests.set(file, indexes);
  }
  return indexes;
}

/** Reports skipped segments to the host. */
export function noteUnread(
  table: { readonly root: string; readonly environment: Pick<IndexEnvironment, "noteUnread"> },
  segments: readonly Pick<UnreadSegment, "entry" | "reason">[],
): void {
  const { root, environment } = table;
  for (const { entry, reason } of segments) environment.noteUnread?.(unreadIndex(root, entry, reason));
}

function findIndexes(file: ManifestFile, fields: readonly TableField[]): VersionIndexes {
  const usable = new Map<string, UsableIndex[]>();
  const unread = new Map<string, UnreadSegment[]>();
  const entries = file.indexSection?.indices ?? [];
  // During a deferred remap, entries do not tell what indexes cover.
  const isLazy = entries.some(({ name }) => name === DEFERRED_REMAP_INDEX);
  const paths = new Map<number, FieldPath>();
  addPaths(fields, [], paths);
  const fragmentIds = new Set(file.manifest.fragments.map(({ id }) => id));
  for (const metadata of entries) {
    const typeUrl = metadata.indexDetails?.typeUrl ?? "";
    if (isSystemIndex(metadata.name) || isVectorTypeUrl(typeUrl)) continue;
    const kind = kindOfTypeUrl(typeUrl);
    const column = metadata.fields.length === 1 ? paths.get(metadata.fields[0]) : undefined;
    const reason = isLazy ? LAZY : refusalOf(metadata, kind, column?.field);
    if (reason !== null || kind === null || column === undefined) {
      for (const id of [...metadata.fields, ...metadata.coveringFields]) {
        const path = paths.get(id)?.path;
        if (path === undefined || reason === null) continue;
        const family = kind === null ? "unknown" : kind.name === "FTS" ? "words" : "values";
        unread.set(path, [...(unread.get(path) ?? []), { entry: metadata, family, reason }]);
      }
      continue;
    }
    const covered = new Set([...(coverageOf(metadata) ?? [])].filter((id) => fragmentIds.has(id)));
    // A full-text index without coverage still defines the tokenizer.
    if (covered.size === 0 && kind.name !== "FTS") continue;
    const onPath = usable.get(column.path) ?? [];
    usable.set(column.path, onPath);
    const same = onPath.findIndex((index) => index.name === metadata.name && index.kind === kind);
    const segments = [...(onPath[same]?.segments ?? []), { metadata, covered }];
    const index: UsableIndex = { name: metadata.name, kind, field: column.field, segments };
    if (same < 0) onPath.push(index);
    else onPath[same] = index;
  }
  return { usable, unread };
}

/** Reason to skip all indexes of a version with a deferred remap. */
export const LAZY = "its row addresses are outdated until the program that moved the rows updates them";

function refusalOf(
  entry: IndexMetadata,
  kind: IndexKind | null,
  field: TableField | undefined,
): string | null {
  const typeUrl = entry.indexDetails?.typeUrl ?? "";
  if (kind === null) {
    return typeUrl === ""
      ? "its entry does not say its type"
      : `this release does not read indexes of type ${JSON.stringify(typeUrl.slice(0, 200))}`;
  }
  if (field !== undefined && kind.refusal(field) !== null) {
    return `this release does not read a ${kind.name} of ${typeInText(field.type)}`;
  }
  return entryRefusal(entry, kind.maxIndexVersion);
}

interface FieldPath {
  readonly path: string;
  readonly field: TableField;
}

/** Adds columns and struct members by field id. */
function addPaths(
  fields: readonly TableField[],
  parents: readonly string[],
  paths: Map<number, FieldPath>,
): void {
  const names = new Set<string>();
  for (const field of fields) {
    // A path names the first of several fields with one name.
    if (names.has(field.name)) continue;
    names.add(field.name);
    const path = [...parents, field.name];
    paths.set(field.id, { path: formatFieldPath(path), field });
    if (field.type.kind === "struct") addPaths(field.children, path, paths);
  }
}

/** Returns the key of an open segment in the cache. */
const keyIn = (directory: string, kind: string, field: TableField): string =>
  `${directory}|${kind}|${field.id}|${typeText(field)}`;

/**
 * Returns a segment that is open, and whose files were compared with the disk a moment ago; else undefined.
 */
export function openedIndexSegment<Open extends CachedIndex["index"]>(
  { table, file }: Pick<OpenVersion, "table" | "file">,
  { openIndexes }: IndexEnvironment,
  { kind, field }: { readonly kind: SegmentOpener<Open>; readonly field: TableField },
  { metadata }: IndexSegment,
): Open | undefined {
  // Finding a directory in another base asks the disk.
  if (metadata.baseId !== undefined) return undefined;
  const directory = statedIndexDirectory(table, file.manifest, metadata);
  if (typeof directory !== "string") return undefined;
  const cached = openIndexes.peek(keyIn(directory, kind.name, field));
  // The key's kind determines the type.
  return cached !== undefined && file.hasSeen(cached) ? (cached.index as Open) : undefined;
}

/**
 * Opens a segment, from the cache if its files are unchanged.
 * @param isUncached true to open it anew and without caching, so that its reads go through `environment`
 * @returns null for a layout that this release cannot read; the host learns the reason
 * @throws CorruptFileError
 */
export async function openIndexSegment<Open extends CachedIndex["index"]>(
  { table, file }: Pick<OpenVersion, "table" | "file">,
  environment: IndexEnvironment,
  { kind, field }: { readonly kind: SegmentOpener<Open>; readonly field: TableField },
  { metadata }: IndexSegment,
  isUncached = false,
): Promise<Open | null> {
  const { openIndexes } = environment;
  /** Returns the cached index if its files are unchanged. The key's kind determines the type. */
  const cachedIndex = async (key: string): Promise<Open | null> => {
    const cached = openIndexes.peek(key);
    if (cached === undefined) return null;
    if (file.hasSeen(cached)) return cached.index as Open;
    if (await areSame(environment.disk, cached)) {
      file.see(cached);
      return cached.index as Open;
    }
    openIndexes.delete(key);
    return null;
  };
  // The files prove that the directory exists, which saves a disk call.
  const statedKey = keyIn(await statedIndexDirectory(table, file.manifest, metadata), kind.name, field);
  const opened = isUncached ? null : await cachedIndex(statedKey);
  if (opened !== null) return opened;
  const directory = await resolveIndexDirectory(table, file.manifest, metadata);
  const key = keyIn(directory, kind.name, field);
  const load = async (): Promise<CachedIndex & { readonly index: Open }> => {
    const { files, opened } = segmentFiles(environment, directory, metadata);
    return { index: await kind.open(files, field), files: opened };
  };
  try {
    if (isUncached) return (await load()).index;
    const elsewhere = key === statedKey ? null : await cachedIndex(key);
    if (elsewhere !== null) return elsewhere;
    const { index } = await openIndexes.get(key, async () => {
      const value = await load();
      return { value, weight: value.index.memoryWeight };
    });
    return index as Open;
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    noteUnread({ root: table.root, environment }, [{ entry: metadata, reason: reasonOf(error, directory) }]);
    return null;
  }
}

const typeText = ({ type, children }: TableField): string =>
  `${formatType(type)}(${children.map(typeText).join()})`;

/** True if an index is unchanged. Its files are written once, so checking the last opened suffices. */
async function areSame(disk: Disk, { files }: CachedIndex): Promise<boolean> {
  const last = files.at(-1);
  return last === undefined || (await disk.stat(last.path))?.identity === last.identity;
}

/** Returns the files of a segment, and notes which of them are opened. */
function segmentFiles(environment: IndexEnvironment, directory: string, metadata: IndexMetadata) {
  const opened: CachedIndex["files"][number][] = [];
  const source = {
    stat: (path: string) => environment.disk.stat(path),
    openDataFile: (path: string) => environment.openDataFile(path),
  };
  const files: IndexFiles = {
    source: environment,
    parts: environment.indexParts,
    has: (name) => hasSegmentFile(source, directory, name, metadata),
    names: () => segmentFileNames(environment.disk, directory, metadata),
    async open(name) {
      const file = await openSegmentFile(source, directory, name, metadata);
      opened.push({ path: file.path, identity: file.identity });
      return file;
    },
  };
  return { files, opened };
}
