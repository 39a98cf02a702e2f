/** The indexes of a version that queries can use, and how they are opened. */

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
import { isSystemIndex } from "../../table/fragments/statistics.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import {
  entryRefusal,
  hasSegmentFile,
  openSegmentFile,
  reasonOf,
  type UnreadIndex,
  unreadIndex,
} from "./unreadIndexes.js";

/** One segment of an index. */
export interface IndexSegment {
  readonly metadata: IndexMetadata;
  /** Ids of the fragments of the version that it covers. */
  readonly covered: ReadonlySet<number>;
}

export interface UsableIndex {
  readonly name: string;
  readonly kind: IndexKind;
  /** The indexed column. */
  readonly field: TableField;
  readonly segments: readonly IndexSegment[];
}

/** What opens the files of a segment. */
interface SegmentOpener<Open> {
  readonly name: string;
  open(files: IndexFiles, field: TableField): Promise<Open>;
}

/** An index as it is kept open, with the files that it was made of. */
export interface CachedIndex {
  readonly index: Pick<OpenIndex, "memoryWeight">;
  readonly files: readonly { readonly path: string; readonly identity: string }[];
}

/** What indexes are opened through. */
export interface IndexEnvironment extends PageSource {
  readonly disk: Disk;
  openDataFile(path: string): Promise<DataFileMetadata>;
  readonly openIndexes: LruCache<CachedIndex>;
  readonly indexParts: LruCache<IndexPart>;
  /** Is told of each segment that a query could have asked and did not, because this release can't read it. */
  readonly noteUnread?: (index: UnreadIndex) => void;
}

/** A segment on a column that is not asked, and why. */
export interface UnreadSegment {
  readonly entry: IndexMetadata;
  /** What it might have answered: filters, searches for words, or either. */
  readonly family: "values" | "words" | "unknown";
  readonly reason: string;
}

/** The indexes of a version by the paths of their columns. Indexes on vectors are in neither map. */
interface VersionIndexes {
  readonly usable: ReadonlyMap<string, readonly UsableIndex[]>;
  readonly unread: ReadonlyMap<string, readonly UnreadSegment[]>;
}

const known = new WeakMap<ManifestFile, VersionIndexes>();

function versionIndexes(file: ManifestFile, fields: readonly TableField[]): VersionIndexes {
  let indexes = known.get(file);
  if (indexes === undefined) {
    indexes = findIndexes(file, fields);
    known.set(file, indexes);
  }
  return indexes;
}

/**
 * The indexes of a version that queries can use, by the paths of their columns.
 * @param fields of the version
 * @throws CorruptFileError for an index whose coverage can't be read
 */
export const indexesOf = (
  file: ManifestFile,
  fields: readonly TableField[],
): ReadonlyMap<string, readonly UsableIndex[]> => versionIndexes(file, fields).usable;

/**
 * The segments of a version that this release can't read, by the paths of their columns, as far as the manifest tells.
 * @param fields of the version
 * @throws CorruptFileError for an index whose coverage can't be read
 */
export const unreadSegmentsOf = (
  file: ManifestFile,
  fields: readonly TableField[],
): ReadonlyMap<string, readonly UnreadSegment[]> => versionIndexes(file, fields).unread;

/** Tells the host of segments that were not asked. */
export function noteUnread(
  {
    root,
    environment,
  }: { readonly root: string; readonly environment: Pick<IndexEnvironment, "noteUnread"> },
  segments: readonly Pick<UnreadSegment, "entry" | "reason">[],
): void {
  for (const { entry, reason } of segments) environment.noteUnread?.(unreadIndex(root, entry, reason));
}

function findIndexes(file: ManifestFile, fields: readonly TableField[]): VersionIndexes {
  const found = new Map<string, UsableIndex[]>();
  const unread = new Map<string, UnreadSegment[]>();
  const entries = file.indexSection?.indices ?? [];
  // What other indexes cover is not what their entries tell where their addresses are still to be brought up to date.
  const isLazy = entries.some(({ name }) => name === DEFERRED_REMAP_INDEX);
  const paths = new Map<number, FieldPlace>();
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
    // One of words that covers nothing still tells how texts are cut.
    if (covered.size === 0 && kind.name !== "FTS") continue;
    const ofPath = found.get(column.path) ?? [];
    found.set(column.path, ofPath);
    const same = ofPath.findIndex((index) => index.name === metadata.name && index.kind === kind);
    const segments = [...(ofPath[same]?.segments ?? []), { metadata, covered }];
    const index: UsableIndex = { name: metadata.name, kind, field: column.field, segments };
    if (same < 0) ofPath.push(index);
    else ofPath[same] = index;
  }
  return { usable: found, unread };
}

/** Reason why no index is asked in a version that follows moved rows by an index of its own. */
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

interface FieldPlace {
  readonly path: string;
  readonly field: TableField;
}

/** Adds columns, and members of structs, by their ids. */
function addPaths(
  fields: readonly TableField[],
  parents: readonly string[],
  paths: Map<number, FieldPlace>,
): void {
  const names = new Set<string>();
  for (const field of fields) {
    // Of several with the same name, a path means the first.
    if (names.has(field.name)) continue;
    names.add(field.name);
    const path = [...parents, field.name];
    paths.set(field.id, { path: formatFieldPath(path), field });
    if (field.type.kind === "struct") addPaths(field.children, path, paths);
  }
}

/**
 * Opens a segment; one that is open already is used again where its files are the same.
 * @param isOwn whether it is opened anew, and not kept: its reads then go through the given environment
 * @returns null where the files are laid out in a way that this release does not read; the host is told why
 * @throws CorruptFileError
 */
export async function openIndexSegment<Open extends CachedIndex["index"]>(
  { table, file }: Pick<OpenVersion, "table" | "file">,
  environment: IndexEnvironment,
  { kind, field }: { readonly kind: SegmentOpener<Open>; readonly field: TableField },
  { metadata }: IndexSegment,
  isOwn = false,
): Promise<Open | null> {
  const { openIndexes } = environment;
  const keyIn = (directory: string): string => `${directory}|${kind.name}|${field.id}|${typeText(field)}`;
  /** What is open already, if its files are unchanged. The key names the kind, and by it what was opened. */
  const known = async (key: string): Promise<Open | null> => {
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
  // Its files tell that the directory is there, without another call to the disk.
  const statedKey = keyIn(await statedIndexDirectory(table, file.manifest, metadata));
  const opened = isOwn ? null : await known(statedKey);
  if (opened !== null) return opened;
  const directory = await resolveIndexDirectory(table, file.manifest, metadata);
  const key = keyIn(directory);
  const load = async (): Promise<CachedIndex & { readonly index: Open }> => {
    const files = new SegmentFiles(environment, directory, metadata);
    return { index: await kind.open(files, field), files: files.opened };
  };
  try {
    if (isOwn) return (await load()).index;
    const elsewhere = key === statedKey ? null : await known(key);
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

/**
 * Whether the files of an index are those that it was made of. They are written once, into a directory of their own, so
 * that the one from which pages are still read tells of all: it is opened last.
 */
async function areSame(disk: Disk, { files }: CachedIndex): Promise<boolean> {
  const last = files.at(-1);
  return last === undefined || (await disk.stat(last.path))?.identity === last.identity;
}

class SegmentFiles implements IndexFiles {
  readonly source: PageSource;
  readonly parts: LruCache<IndexPart>;
  readonly opened: { readonly path: string; readonly identity: string }[] = [];
  readonly #environment: IndexEnvironment;
  readonly #directory: string;
  readonly #metadata: IndexMetadata;

  constructor(environment: IndexEnvironment, directory: string, metadata: IndexMetadata) {
    this.#environment = environment;
    this.#directory = directory;
    this.source = environment;
    this.parts = environment.indexParts;
    this.#metadata = metadata;
  }

  has(name: string): Promise<boolean> {
    const { disk } = this.#environment;
    return hasSegmentFile({ stat: (path) => disk.stat(path) }, this.#directory, name, this.#metadata);
  }

  async open(name: string): Promise<DataFileMetadata> {
    const { disk } = this.#environment;
    const source = {
      stat: (path: string) => disk.stat(path),
      openDataFile: (path: string) => this.#environment.openDataFile(path),
    };
    const file = await openSegmentFile(source, this.#directory, name, this.#metadata);
    this.opened.push({ path: file.path, identity: file.identity });
    return file;
  }
}
