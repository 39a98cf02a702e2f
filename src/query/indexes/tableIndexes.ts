/** The indexes of a version that queries can use, and how they are opened. */

import { formatType } from "../../arrow/types/type.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { DataFileMetadata } from "../../file/container/reader.js";
import type { PageSource } from "../../file/pages/pageRows.js";
import type { IndexMetadata } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { IndexFiles, IndexKind, IndexPart, OpenIndex } from "../../indexes/kind.js";
import { kindOfTypeUrl } from "../../indexes/kinds/kinds.js";
import type { Disk } from "../../io/disk/disk.js";
import type { LruCache } from "../../io/memory/cache.js";
import type { TableField } from "../../schema/schema.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { DEFERRED_REMAP_INDEX } from "../../table/commit/indexEntries.js";
import { resolveIndexDirectory, statedIndexDirectory } from "../../table/fragments/fileLookup.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";

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
}

const known = new WeakMap<ManifestFile, ReadonlyMap<string, readonly UsableIndex[]>>();

/**
 * The indexes of a version by the paths of their columns.
 * @param fields of the version
 * @throws CorruptFileError for an index whose coverage can't be read
 */
export function indexesOf(
  file: ManifestFile,
  fields: readonly TableField[],
): ReadonlyMap<string, readonly UsableIndex[]> {
  let indexes = known.get(file);
  if (indexes === undefined) {
    indexes = findIndexes(file, fields);
    known.set(file, indexes);
  }
  return indexes;
}

function findIndexes(file: ManifestFile, fields: readonly TableField[]): Map<string, UsableIndex[]> {
  const found = new Map<string, UsableIndex[]>();
  const entries = file.indexSection?.indices ?? [];
  // What other indexes cover is not what their entries tell where their addresses are still to be brought up to date.
  if (entries.some(({ name }) => name === DEFERRED_REMAP_INDEX)) return found;
  const paths = new Map<number, FieldPlace>();
  addPaths(fields, [], paths);
  const fragmentIds = new Set(file.manifest.fragments.map(({ id }) => id));
  for (const metadata of entries) {
    const kind = metadata.indexDetails === undefined ? null : kindOfTypeUrl(metadata.indexDetails.typeUrl);
    const place = metadata.fields.length === 1 ? paths.get(metadata.fields[0]) : undefined;
    if (kind === null || place === undefined || metadata.coveringFields.length > 0) continue;
    if (kind.refusal(place.field) !== null) continue;
    const version = metadata.indexVersion ?? 0;
    if (version < 0 || version > kind.maxIndexVersion) continue;
    const covered = new Set([...(coverageOf(metadata) ?? [])].filter((id) => fragmentIds.has(id)));
    // One of words that covers nothing still tells how texts are cut.
    if (covered.size === 0 && kind.name !== "FTS") continue;
    const ofPath = found.get(place.path) ?? [];
    found.set(place.path, ofPath);
    const same = ofPath.findIndex((index) => index.name === metadata.name && index.kind === kind);
    const segments = [...(ofPath[same]?.segments ?? []), { metadata, covered }];
    const index: UsableIndex = { name: metadata.name, kind, field: place.field, segments };
    if (same < 0) ofPath.push(index);
    else ofPath[same] = index;
  }
  return found;
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
 * @returns null where the files are laid out in a way that this release does not read
 * @throws CorruptFileError
 */
export async function openIndexSegment<Open extends CachedIndex["index"]>(
  { at, file }: Pick<OpenVersion, "at" | "file">,
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
  const statedKey = keyIn(await statedIndexDirectory(at, file.manifest, metadata));
  const opened = isOwn ? null : await known(statedKey);
  if (opened !== null) return opened;
  const directory = await resolveIndexDirectory(at, file.manifest, metadata);
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
    if (error instanceof UnsupportedError) return null;
    throw error;
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
  readonly #sizes: ReadonlyMap<string, number>;

  constructor(environment: IndexEnvironment, directory: string, { files }: IndexMetadata) {
    this.#environment = environment;
    this.#directory = directory;
    this.source = environment;
    this.parts = environment.indexParts;
    this.#sizes = new Map(files.map(({ path, sizeBytes }) => [path, sizeBytes]));
  }

  async open(name: string): Promise<DataFileMetadata> {
    const path = `${this.#directory}/${name}`;
    const stat = await this.#environment.disk.stat(path);
    if (stat === null) throw new CorruptFileError(path, 0, "the file of an index is missing");
    const size = this.#sizes.get(name);
    if (size !== undefined && size !== stat.size) {
      throw new CorruptFileError(path, 0, `it has ${stat.size} bytes, the manifest says ${size}`);
    }
    const file = await this.#environment.openDataFile(path);
    this.opened.push({ path, identity: file.identity });
    return file;
  }
}
