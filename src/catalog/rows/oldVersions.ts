/**
 * Empties the catalog's old versions. Nobody reads them, but their numbers must stay in use. An open
 * connection of the reference looks for the number after the version that it knows, and commits its change
 * under that number. If the number were free, the connection would not notice newer versions, and its
 * acknowledged change would lie below the latest version, where nobody finds it.
 *
 * Emptying a version removes its files and replaces its manifest by an empty file of the same name. Most of
 * the empty files are hard links to a few, so that a version costs a directory entry. Invariants:
 *
 * - The newest versions stay whole for their readers: at least `MIN_KEPT_VERSIONS`, and more of a small
 *   catalog.
 * - The name of a version exists at every moment: the empty file is renamed onto the manifest.
 * - The emptied versions are the oldest ones, up to some number, which bisection can find.
 * - The data files are removed before the manifest is replaced. After a crash in between, it still names
 *   them.
 * - A version is emptied only after a newer one was published for good, so that a power cut loses nothing
 *   that is needed.
 *
 * After a number of changes, a few versions are emptied together. A long history of another engine is emptied
 * little by little.
 */

import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import type { LockLease } from "../../io/disk/locks.js";
import { temporaryName } from "../../io/names/temporaryNames.js";
import { join } from "../../platform/native.js";
import { ReferencedFiles } from "../../table/cleanup/referencedFiles.js";
import { writeHint } from "../../table/versions/hintWriter.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import {
  branchTree,
  dataDirectory,
  deletionsDirectory,
  indicesDirectory,
  refsDirectory,
  transactionsDirectory,
  versionsDirectory,
} from "../../table/versions/paths.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";
import { type VersionEntry, versionEntry } from "../../table/versions/versions.js";
import { removeOrphans } from "./orphanFiles.js";

/** Bytes on disk of the versions that stay whole, within bounds on their number. */
const KEPT_BYTES = 8 * 1024 * 1024;
export const MIN_KEPT_VERSIONS = 32;
export const MAX_KEPT_VERSIONS = 256;
/** Approximate unit of the space that a file uses. */
const BLOCK_BYTES = 4096;
/** Minimum number of old versions before any is emptied. */
const MIN_BATCH = 16;
/** Maximum number of versions emptied at one change. */
const MAX_BATCH = 32;

/** A file name that does not lead out of its directory. */
const PLAIN_NAME = /^\w[\w.-]*$/;

/** State of one catalog's old versions from one change to the next. */
export class OldVersions {
  /** Number below which all versions are emptied; null if unknown. */
  #firstWhole: number | null = null;
  /** Latest version at the last change. */
  #latest = 0;

  /**
   * Empties some versions, if enough of them have become old. Never rejects: the change must not fail because
   * of work that a later one can do.
   * @param latest version that was just committed
   * @param lease lease of the catalog's lock
   */
  async emptySome(latest: OpenVersion, lease: LockLease): Promise<void> {
    // A number that goes back belongs to another catalog in the same directory.
    if (latest.version <= this.#latest) this.#firstWhole = null;
    this.#latest = latest.version;
    const end = latest.version - keptVersions(latest.file) + 1;
    if (end - (this.#firstWhole ?? 1) < MIN_BATCH) return;
    try {
      const emptying = new Emptying(latest, lease);
      const first = await this.#findFirstWhole(emptying, end);
      this.#firstWhole = first;
      if (end - first < MIN_BATCH) return;
      const next = await emptying.emptyRange(first, Math.min(end, first + MAX_BATCH));
      this.#firstWhole = next;
      if (next > first) await removeOrphans(latest, next, lease);
    } catch {
      // A failure makes the state uncertain. A later change tries again.
      this.#firstWhole = null;
    }
  }

  /** @param end the search covers versions below it */
  async #findFirstWhole(emptying: Emptying, end: number): Promise<number> {
    const firstWhole = this.#firstWhole;
    // Another process may have emptied more meanwhile.
    return firstWhole !== null && (await emptying.isWhole(firstWhole))
      ? firstWhole
      : emptying.firstWholeBelow(end);
  }
}

/** Returns the number of the newest versions that stay whole. */
function keptVersions({ manifest, byteLength }: ManifestFile): number {
  const blocks = (bytes: number): number => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
  let bytes = blocks(byteLength);
  for (const { files } of manifest.fragments) {
    for (const { fileSizeBytes } of files) bytes += blocks(fileSizeBytes);
  }
  return Math.min(MAX_KEPT_VERSIONS, Math.max(MIN_KEPT_VERSIONS, Math.floor(KEPT_BYTES / bytes)));
}

/** One round over a catalog's old versions. */
class Emptying {
  readonly #table: TableAt;
  readonly #latest: OpenVersion;
  readonly #lease: LockLease;
  /** Path of an emptied version, as a target for hard links. */
  #emptied: string | null = null;

  constructor(latest: OpenVersion, lease: LockLease) {
    this.#table = latest.table;
    this.#latest = latest;
    this.#lease = lease;
  }

  get #disk(): Disk {
    return this.#table.disk;
  }

  /** Returns false for a version that is emptied or does not exist. */
  async isWhole(version: number): Promise<boolean> {
    const stat = await this.#disk.stat(this.#entry(version).path);
    return stat !== null && stat.size > 0;
  }

  /** Returns the oldest version that is whole; `end` if all below it are emptied. */
  async firstWholeBelow(end: number): Promise<number> {
    let whole = end;
    let emptied = end - 1;
    for (let step = 1; emptied >= 1 && (await this.isWhole(emptied)); step *= 2) {
      whole = emptied;
      emptied = Math.max(0, whole - step);
    }
    while (whole - emptied > 1) {
      const middle = Math.floor((whole + emptied) / 2);
      if (await this.isWhole(middle)) whole = middle;
      else emptied = middle;
    }
    return whole;
  }

  /**
   * Empties versions from the oldest on.
   * @param end exclusive; older than the latest
   * @returns the first version that was not emptied
   */
  async emptyRange(start: number, end: number): Promise<number> {
    // Tags and branches, which a catalog does not need, may need any version.
    for (const directory of [refsDirectory(this.#table.root), branchTree(this.#table.root)]) {
      if ((await this.#disk.stat(directory)) !== null) return start;
    }
    if (start > 1 && (await this.#isEmptied(start - 1))) this.#emptied = this.#entry(start - 1).path;
    let file = await this.#read(start);
    for (let version = start; version < end; version++) {
      const next = await this.#read(version + 1);
      // Renaming one name of a file onto another does nothing, and leaves both.
      if (file !== null || !(await this.#isEmptied(version))) {
        await this.#empty(version, file === null ? [] : this.#filesOf(file, next));
      }
      file = next;
    }
    await writeHint(this.#table, this.#latest.version);
    return end;
  }

  async #empty(version: number, files: readonly (() => Promise<void>)[]): Promise<void> {
    const { path } = this.#entry(version);
    if (this.#disk.hasRename === false) {
      await this.#lease.confirm();
      for (const remove of files) await remove();
      await this.#disk.replaceIf?.(path, [], null);
      return;
    }
    const staged = await this.#stageEmptyFile();
    try {
      // The next step cannot be undone. After the lock was lost, another catalog may lie there.
      await this.#lease.confirm();
      for (const remove of files) await remove();
      await this.#disk.rename(staged, path);
    } catch (error) {
      await this.#disk.remove(staged).catch(() => undefined);
      throw error;
    }
    this.#emptied = path;
  }

  /** Makes an empty file under a unique name: a hard link to an existing one, where links exist. */
  async #stageEmptyFile(): Promise<string> {
    const staged = join(versionsDirectory(this.#table.root), temporaryName());
    if (this.#emptied !== null) {
      try {
        await this.#disk.link(this.#emptied, staged);
        return staged;
      } catch {
        // Every file system limits the number of names of one file, some to a single one.
      }
    }
    const handle = await this.#disk.create(staged);
    await handle.close();
    return staged;
  }

  /** Returns functions that remove a version's files, except those of the next and the latest version. */
  #filesOf(file: ManifestFile, next: ManifestFile | null): (() => Promise<void>)[] {
    const needed = new ReferencedFiles();
    if (next !== null) needed.add(next);
    needed.add(this.#latest.file);
    const referenced = new ReferencedFiles();
    referenced.add(file);
    const { root } = this.#table;
    const gone = (part: "data" | "deletions" | "transactions" | "indices", directory: string): string[] =>
      // Anybody may have written the manifest; its names must not lead out of the directory.
      [...referenced[part]]
        .filter((name) => !needed[part].has(name) && PLAIN_NAME.test(name))
        .map((name) => join(directory, name));
    const files = [
      ...gone("data", dataDirectory(root)),
      ...gone("deletions", deletionsDirectory(root)),
      ...gone("transactions", transactionsDirectory(root)),
    ];
    const directories = gone("indices", indicesDirectory(root));
    return [
      ...files.map((path) => () => this.#disk.remove(path)),
      ...directories.map((path) => () => this.#disk.removeTree(path)),
    ];
  }

  /** Reads a version; null if it does not exist, or does not name its files. Then they stay. */
  async #read(version: number): Promise<ManifestFile | null> {
    if (version === this.#latest.version) return this.#latest.file;
    try {
      const file = await this.#table.environment.manifests.read(this.#disk, this.#entry(version).path);
      // Decoding here reports damage here.
      if (file !== null) new ReferencedFiles().add(file);
      return file;
    } catch (error) {
      if (error instanceof CorruptFileError || error instanceof UnsupportedError) return null;
      throw error;
    }
  }

  async #isEmptied(version: number): Promise<boolean> {
    return (await this.#disk.stat(this.#entry(version).path))?.size === 0;
  }

  #entry(version: number): VersionEntry {
    return versionEntry(this.#table.root, version, this.#latest.scheme);
  }
}
