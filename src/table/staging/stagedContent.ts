/**
 * Checks that the content of a staged manifest fits the table or branch that it is to be published on. The
 * engine would trust all of it: it reads the files that a version names, removes them with the version, and
 * continues its numbers. So a staged version may name only
 *
 *   - data and deletion files that exist in its own directory, or that the previous version names;
 *   - base paths of the previous version. The first version of a branch may add one, for its source. A first
 *     version without a source, as of a clone, may name base paths that the host allows and the caller may
 *     use;
 *   - numbers (of fragments, fields, rows) that leave room for later ones.
 *
 * Fragments that equal the previous version's, byte for byte, are not checked on the disk.
 */

import { toHex } from "../../bytes/hex.js";
import { CorruptFileError, InvalidInputError } from "../../errors.js";
import { isReadableVersion } from "../../file/container/container.js";
import {
  type BasePath,
  Clone,
  type DataFile,
  type DataFragment,
  DELETION_FILE_TYPE,
  DROPPED_FIELD,
  encodedFragment,
  type IndexMetadata,
  type Manifest,
} from "../../format/table.js";
import { pathOn } from "../../io/disk/addresses.js";
import { isSameBytes, sep } from "../../platform/native.js";
import { nextFieldId } from "../../schema/schema.js";
import { checkAutoCleanup } from "../cleanup/cleanupRule.js";
import { cloneVersion } from "../commit/applyClone.js";
import { highestFragmentId } from "../commit/applyFragments.js";
import { refuseLongMetadata } from "../commit/metadataSize.js";
import { isSameDeletion } from "../fragments/deletions.js";
import { INDEX_ID_BYTES, resolveDataFile, resolveDeletionFile } from "../fragments/fileLookup.js";
import { listBranches } from "../refs/branches.js";
import { isBranchName, isMainBranch } from "../refs/refNames.js";
import { checkReaderFlags, checkWriterFlags, hasStableRowIds } from "../versions/flags.js";
import type { ManifestFile } from "../versions/manifest.js";
import { readManifestAt } from "../versions/openVersion.js";
import { isFileName } from "../versions/paths.js";
import { branchAt, type TableAt } from "../versions/tableAt.js";
import { indicesOf, type VersionContent } from "../versions/versionContent.js";
import { findVersion } from "../versions/versions.js";

/** Maximum increase of the highest ids of fragments and fields. */
const MAX_ID_STEP = 2 ** 20;
/** Maximum increase of the next row id. */
const MAX_ROW_ID_STEP = 2 ** 40;
/** Maximum fragment id and row position: both have 32 bits. */
const MAX_UINT32 = 2 ** 32 - 1;
/** Last second of the year 9999. */
const MAX_SECONDS = 253_402_300_799;
const NS_PER_SECOND = 1_000_000_000;
/** Maximum depth of nested fields. */
const MAX_DEPTH = 64;

/** Conditions for publishing a staged manifest. */
export interface StagedTerms {
  /** Previous version; null if the staged one is the first. */
  readonly latest: ManifestFile | null;
  readonly allow?: AllowFirst;
}

/** Permissions for the first version of a table or branch. Each function throws if the caller lacks it. */
export interface AllowFirst {
  /** Permission to make a branch from another; null is the main branch. */
  readonly source: (branch: string | null) => Promise<void>;
  /** Permission to give a table's first version a base path that the host allows. */
  readonly base: (path: string) => Promise<void>;
}

/**
 * Checks a staged manifest.
 * @param file staged manifest with all parts decoded
 * @throws InvalidInputError naming the part that does not fit; UnsupportedError for unknown feature flags
 */
export async function checkStagedContent(
  table: TableAt,
  { latest, allow }: StagedTerms,
  file: ManifestFile,
): Promise<void> {
  const before = latest ?? (await contentOfSource(table, file.manifest, allow));
  const check = new ContentCheck(table, file, before);
  try {
    check.branch(table.branch);
    check.flags();
    check.metadata();
    check.numbers();
    check.names();
    check.schema();
    check.settings();
    await check.bases(allow);
    await check.fragments();
    check.indices();
  } catch (error) {
    // The lazily decoded parts come from the same caller.
    if (!(error instanceof CorruptFileError)) throw error;
    throw new InvalidInputError(`the staged manifest: ${error.message}`, { cause: error });
  }
}

/** Returns the base path that the first version of a branch adds for its source, and the source's name. */
function addedBase({
  basePaths,
}: Manifest): { readonly added: BasePath; readonly source: string | null } | null {
  const added = basePaths.reduce<BasePath | null>(
    (last, base) => (last !== null && last.id > base.id ? last : base),
    null,
  );
  if (added === null || !added.isDatasetRoot) return null;
  const source = isMainBranch(added.name) ? null : added.name;
  return source === null || isBranchName(source) ? { added, source } : null;
}

/** Checks that the caller may make a branch from the source that the first version names. */
export async function requireSource(manifest: Manifest, allow: AllowFirst): Promise<void> {
  const base = addedBase(manifest);
  if (base !== null) await allow.source(base.source);
}

/**
 * Returns the content that the first version of a branch copies: the version of the same number of its source
 * branch, which its last base path names. Null if there is no source, as for the first version of a table.
 */
async function contentOfSource(
  table: TableAt,
  manifest: Manifest,
  allow: AllowFirst | undefined,
): Promise<VersionContent | null> {
  if (table.branch === null) return null;
  const base = addedBase(manifest);
  if (base === null) return null;
  const { added, source } = base;
  await allow?.source(source);
  // A disk that ignores case would also find the branch by other names, whose permission was not checked.
  if (source !== null && !(await listBranches(table)).includes(source)) return null;
  const { disk } = table;
  const { root } = branchAt(table, source);
  const addedPath = pathOn(disk, added.path);
  if (addedPath !== root && (await disk.realPath(addedPath)) !== (await disk.realPath(root))) return null;
  const entry = await findVersion({ disk, root }, manifest.version);
  const file = entry && (await readManifestAt(table.environment, entry));
  if (file === null) return null;
  const clone = Clone.create({
    isShallow: true,
    refName: added.name,
    refPath: added.path,
    branchName: table.branch,
  });
  return cloneVersion({ manifest: file.manifest, indexSectionBytes: file.indexSectionBytes }, clone);
}

const refuse = (reason: string): never => {
  throw new InvalidInputError(`the staged manifest ${reason}`);
};

const quoted = (text: string): string => JSON.stringify(text.slice(0, 200));

class ContentCheck {
  readonly #table: TableAt;
  readonly #file: ManifestFile;
  readonly #manifest: Manifest;
  readonly #before: VersionContent | null;
  readonly #highestField: number;
  readonly #baseIds = new Set<number | undefined>([undefined]);
  /** Data files of the previous version, by name and base; set by the check of the first new fragment. */
  #previousFiles: ReadonlySet<string> | null = null;
  #realRoot: string | null = null;

  constructor(table: TableAt, file: ManifestFile, before: VersionContent | null) {
    this.#table = table;
    this.#file = file;
    this.#manifest = file.manifest;
    this.#before = before;
    const nextField = before === null ? 0 : nextFieldId(before.manifest.fields, before.manifest.fragments);
    this.#highestField = nextField - 1 + MAX_ID_STEP;
  }

  branch(expected: string | null): void {
    const { branch } = this.#manifest;
    const branchName = isMainBranch(branch) ? null : branch;
    if (branchName === expected) return;
    refuse(`is of branch ${quoted(branchName ?? "main")}, not of ${quoted(expected ?? "main")}`);
  }

  flags(): void {
    const { path, manifest } = this.#file;
    checkReaderFlags(manifest, path);
    checkWriterFlags(manifest, path);
    if (this.#before === null || hasStableRowIds(manifest) === hasStableRowIds(this.#before.manifest)) return;
    refuse("changes whether row ids are stable, which is decided when a table is made");
  }

  metadata(): void {
    refuseLongMetadata(this.#before?.manifest ?? null, this.#manifest);
  }

  numbers(): void {
    const { fragments, maxFragmentId, nextRowId, timestamp, dataFormat } = this.#manifest;
    const before = this.#before?.manifest;
    const highest = before === undefined ? -1 : highestFragmentId(before);
    if (maxFragmentId !== undefined && maxFragmentId > highest + MAX_ID_STEP) {
      refuse(
        `skips fragment ids: its highest is ${maxFragmentId}, that of the previous version is ${highest}`,
      );
    }
    const ids = new Set<number>();
    for (const { id } of fragments) {
      if (ids.has(id)) refuse(`has two fragments ${id}`);
      if (id > (maxFragmentId ?? -1)) {
        refuse(`has a fragment ${id}, and ${maxFragmentId ?? "none"} as the highest id`);
      }
      ids.add(id);
    }
    const firstRowId = before?.nextRowId ?? 0;
    if (nextRowId > firstRowId + MAX_ROW_ID_STEP) {
      refuse(`skips row ids: its next is ${nextRowId}, that of the previous version is ${firstRowId}`);
    }
    if (hasStableRowIds(this.#manifest) && nextRowId < firstRowId) {
      refuse(`assigns row ids again from ${nextRowId} on: the next is ${firstRowId}`);
    }
    const { seconds, nanos } = timestamp ?? { seconds: 0, nanos: 0 };
    if (seconds < 0 || seconds > MAX_SECONDS || nanos < 0 || nanos >= NS_PER_SECOND) {
      refuse(`has an invalid time: ${seconds} s and ${nanos} ns`);
    }
    const format = dataFormat?.version;
    if (format !== before?.dataFormat?.version && !isReadableVersion(format ?? "")) {
      refuse(`has data files of version ${quoted(format ?? "")}, which is unknown`);
    }
  }

  names(): void {
    const { transactionFile } = this.#manifest;
    if (transactionFile !== "" && !isFileName(transactionFile)) {
      refuse(`calls the file of its transaction ${quoted(transactionFile)}, which is not a file name`);
    }
  }

  /** Checks the depth of fields. Decoding has checked unique ids, and parents before children. */
  schema(): void {
    const depths = new Map<number, number>();
    for (const { id, parentId } of this.#manifest.fields) {
      if (id > this.#highestField) refuse(`skips field ids: it has a field ${id}`);
      const depth = (depths.get(parentId) ?? 0) + 1;
      if (depth > MAX_DEPTH) refuse(`has fields nested deeper than ${MAX_DEPTH}`);
      depths.set(id, depth);
    }
  }

  /** Checks new settings; those of the previous version are not this caller's. */
  settings(): void {
    checkAutoCleanup(this.#manifest.config, this.#before?.manifest.config);
  }

  async bases(allow: AllowFirst | undefined): Promise<void> {
    const previousBases = this.#before?.manifest.basePaths ?? [];
    for (const base of this.#manifest.basePaths) {
      const { id, path } = base;
      if (this.#baseIds.has(id)) refuse(`has two base paths ${id}`);
      this.#baseIds.add(id);
      if (previousBases.some((each) => isSameBase(each, base))) continue;
      const mayBeUsed = this.#before === null && (await this.#mayUseBase(path));
      if (!mayBeUsed) refuse(`has a base path ${quoted(path)} that the previous version does not have`);
      await allow?.base(path);
    }
  }

  async #mayUseBase(path: string): Promise<boolean> {
    const { environment, disk } = this.#table;
    return (await environment.mayUseBase?.(pathOn(disk, path))) === true;
  }

  async fragments(): Promise<void> {
    const before = new Map(this.#before?.manifest.fragments.map((each) => [each.id, each]));
    // A dropped base path may be that of an unchanged fragment.
    const hasAllBases = this.#manifest.basePaths.length >= (this.#before?.manifest.basePaths.length ?? 0);
    for (const fragment of this.#manifest.fragments) {
      const twin = before.get(fragment.id);
      const isUnchanged = twin !== undefined && isSameFragment(fragment, twin);
      if (isUnchanged && hasAllBases) continue;
      this.#checkBaseIds(fragment);
      if (!isUnchanged) await this.#checkFragment(fragment, twin);
    }
  }

  #checkBaseIds({ id, files, deletionFile }: DataFragment): void {
    for (const { baseId } of [...files, ...(deletionFile === undefined ? [] : [deletionFile])]) {
      if (!this.#baseIds.has(baseId))
        refuse(`names base path ${baseId} in fragment ${id}, but does not have it`);
    }
  }

  async #checkFragment(fragment: DataFragment, before: DataFragment | undefined): Promise<void> {
    const { id, files, physicalRows, deletionFile } = fragment;
    if (physicalRows > MAX_UINT32 + 1) refuse(`has ${physicalRows} rows in fragment ${id}`);
    const isExternal =
      fragment.externalRowIds !== undefined ||
      fragment.externalCreatedAtVersions !== undefined ||
      fragment.externalLastUpdatedAtVersions !== undefined;
    if (isExternal) refuse(`stores ids or versions of the rows of fragment ${id} in other files`);
    for (const file of files) {
      this.#checkColumns(file);
      if (this.#isPreviousFile(file)) continue;
      if (!isFileName(file.path) || !file.path.endsWith(".lance")) {
        refuse(`calls a data file ${quoted(file.path)}`);
      }
      const path = await resolveDataFile(this.#table, this.#manifest, file);
      await this.#requireFile(path, file.baseId, file.path);
    }
    if (deletionFile === undefined) return;
    const { fileType, numDeletedRows } = deletionFile;
    if (!Object.values(DELETION_FILE_TYPE).some((type) => type === fileType)) {
      refuse(`has a deletion file of type ${fileType}`);
    }
    if (numDeletedRows > physicalRows && physicalRows > 0) {
      refuse(`deletes ${numDeletedRows} of ${physicalRows} rows of fragment ${id}`);
    }
    const path = await resolveDeletionFile(this.#table, this.#manifest, fragment);
    if (path === null || isSameDeletion(deletionFile, before?.deletionFile)) return;
    await this.#requireFile(path, deletionFile.baseId, `the deletion file of fragment ${id}`);
  }

  #isPreviousFile(file: DataFile): boolean {
    const keyOf = ({ path, baseId }: DataFile) => `${baseId ?? ""}/${path}`;
    this.#previousFiles ??= new Set(
      this.#before?.manifest.fragments.flatMap(({ files }) => files.map(keyOf)),
    );
    return this.#previousFiles.has(keyOf(file));
  }

  #checkColumns({ path, fields, columnIndices }: DataFile): void {
    const seen = new Set<number>();
    for (const field of fields) {
      if (field === DROPPED_FIELD) continue;
      if (field < 0 || field > this.#highestField || seen.has(field)) {
        refuse(`names field ${field} in data file ${quoted(path)}, which is not a valid field of that file`);
      }
      seen.add(field);
    }
    if (columnIndices.length > 0 && columnIndices.length !== fields.length) {
      refuse(`names ${fields.length} fields and ${columnIndices.length} columns in ${quoted(path)}`);
    }
    if (columnIndices.some((index) => index < -1)) refuse(`has a negative column in ${quoted(path)}`);
  }

  /** @param name name of the file in messages */
  async #requireFile(path: string, baseId: number | undefined, name: string): Promise<void> {
    const { disk } = this.#table;
    const isThere = (await disk.stat(path))?.kind === "file";
    if (!isThere) refuse(`names ${quoted(name)}, which is not a file of the table`);
    if (baseId !== undefined) return;
    this.#realRoot ??= await disk.realPath(this.#table.root);
    const real = await disk.realPath(path);
    if (this.#realRoot !== null && real?.startsWith(this.#realRoot + sep)) return;
    refuse(`names ${quoted(name)}, which lies outside the table`);
  }

  indices(): void {
    const { indexSectionBytes } = this.#file;
    if (indexSectionBytes === null) return;
    const before = this.#before?.indexSectionBytes ?? null;
    if (before !== null && isSameBytes(before, indexSectionBytes)) return;
    const ids = new Set<string>();
    for (const index of indicesOf(this.#file)) {
      const id = this.#checkIndex(index);
      if (ids.has(id)) refuse(`has two index segments of one id`);
      ids.add(id);
    }
  }

  #checkIndex({ name, uuid, baseId, files, fields }: IndexMetadata): string {
    if (uuid?.uuid.length !== INDEX_ID_BYTES) return refuse(`has an index ${quoted(name)} without an id`);
    if (!this.#baseIds.has(baseId)) refuse(`names base path ${baseId} in index ${quoted(name)}`);
    for (const { path } of files) {
      if (!path.split("/").every(isFileName)) refuse(`calls a file of index ${quoted(name)} ${quoted(path)}`);
    }
    if (fields.some((field) => field < 0 || field > this.#highestField)) {
      refuse(`has an index ${quoted(name)} on an invalid field`);
    }
    return toHex(uuid.uuid);
  }
}

const isSameBase = (a: BasePath, b: BasePath): boolean =>
  a.id === b.id &&
  a.path === b.path &&
  a.isDatasetRoot === b.isDatasetRoot &&
  (a.name ?? "") === (b.name ?? "");

const isSameFragment = (a: DataFragment, b: DataFragment): boolean =>
  a === b || isSameBytes(encodedFragment(a), encodedFragment(b));
