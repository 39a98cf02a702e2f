/** Keeps decoded manifests in memory. */

import { Limit } from "../../async/parallel.js";
import { UnsupportedError } from "../../errors.js";
import { lacksCounts } from "../../format/missingCounts.js";
import type { Manifest } from "../../format/table.js";
import type { Disk, FileStat } from "../../io/disk/disk.js";
import { type CacheCounts, LruCache } from "../../io/memory/cache.js";
import { dirname } from "../../platform/native.js";
import { checkReaderFlags } from "./flags.js";
import { decodeManifestFile, type ManifestFamily, type ManifestFile, readManifestBytes } from "./manifest.js";

/** Approximate memory of a decoded manifest, as a multiple of its bytes. */
const DECODED_FACTOR = 10;
/** Further bytes per entry. */
const ENTRY_BYTES = 2048;

/** Maximum number of directories whose manifests share their fragments; a full map starts over. */
const MAX_FAMILIES = 1024;
/** Maximum number of manifests that are read and decoded concurrently. */
const MAX_READS = 16;

interface CachedManifest {
  /** Identity of the file that was read. */
  readonly identity: string;
  readonly file: ManifestFile;
}

/**
 * Finds what the manifest of an old table omits: row counts, and the version of its data files.
 * @param root directory of the table or branch
 */
export type CompleteManifest = (disk: Disk, root: string, manifest: Manifest) => Promise<Manifest>;

/** Data format of tables whose manifests may be incomplete. */
const LEGACY_FORMAT = "0.1";

/** Returns true if a manifest may omit, or misstate, facts that current ones state. */
const isIncomplete = ({ path, head: { dataFormat }, encoded }: ManifestFile): boolean =>
  dataFormat === undefined ||
  dataFormat.version === LEGACY_FORMAT ||
  (encoded !== null && lacksCounts(encoded.bytes, { path, byteOffset: encoded.byteOffset }));

/**
 * Decoded manifests, bounded in bytes. A published manifest never changes. But a table that was dropped and
 * created again has others under the same names, so every read checks the file's identity.
 *
 * Versions of a table mostly have the same fragments. Each fragment is decoded once, for the first version
 * that contains it.
 */
export class ManifestCache {
  /** By path. */
  readonly #files: LruCache<CachedManifest>;
  /** By directory. */
  readonly #families = new Map<string, ManifestFamily>();
  /** Current reads, by path. */
  readonly #reading = new Map<string, Promise<CachedManifest | null>>();
  readonly #limit = new Limit(MAX_READS);

  readonly #complete: CompleteManifest;

  /**
   * @param maxBytes approximate memory that the decoded manifests may take
   * @param complete default: refuses incomplete manifests
   */
  constructor(maxBytes: number, complete: CompleteManifest = refuseIncomplete) {
    this.#files = new LruCache(maxBytes);
    this.#complete = complete;
  }

  /** Counts of the cache. */
  get counts(): CacheCounts {
    return this.#files.counts;
  }

  /**
   * Returns the manifest at a path; null if it does not exist.
   * @param seen its current stat, which saves a look
   * @throws CorruptFileError, UnsupportedError for a table that this build cannot read
   */
  async read(disk: Disk, path: string, seen?: FileStat): Promise<ManifestFile | null> {
    const cached = this.#files.peek(path);
    if (cached !== undefined) {
      const stat = seen ?? (await disk.stat(path));
      if (stat === null) return null;
      if (stat.identity === cached.identity) return cached.file;
    }
    // A current read may be of the previous file.
    const underWay = this.#reading.get(path);
    if (underWay !== undefined) {
      const shared = await underWay.catch(() => null);
      if (shared !== null && (await disk.stat(path))?.identity === shared.identity) return shared.file;
    }
    const reading = this.#read(disk, path);
    this.#reading.set(path, reading);
    try {
      return (await reading)?.file ?? null;
    } finally {
      if (this.#reading.get(path) === reading) this.#reading.delete(path);
    }
  }

  /**
   * Like {@link read}, for one look at the transaction and the fields of a version. Adds nothing to the
   * cache, and does not find out what the manifest omits.
   */
  async readOnce(disk: Disk, path: string): Promise<ManifestFile | null> {
    const cached = this.#files.peek(path);
    if (cached !== undefined && (await disk.stat(path))?.identity === cached.identity) return cached.file;
    const read = await readManifestBytes(disk, path);
    if (read === null) return null;
    const file = decodeManifestFile(read.bytes, path);
    checkReaderFlags(file.head, path);
    return file;
  }

  /** Like {@link read}, but always from the disk, for callers that must not rely on stats. */
  async readAnew(disk: Disk, path: string): Promise<ManifestFile | null> {
    return (await this.#read(disk, path))?.file ?? null;
  }

  /** Bounds the concurrent reads, because each takes the memory of a file and of its decoded form. */
  #read(disk: Disk, path: string): Promise<CachedManifest | null> {
    return this.#limit.run(() => this.#readNow(disk, path));
  }

  async #readNow(disk: Disk, path: string): Promise<CachedManifest | null> {
    const read = await readManifestBytes(disk, path);
    if (read === null) return null;
    const cached = this.#files.peek(path)?.file;
    const file = cached?.hasContent(read.bytes) ? cached : await this.#decode(disk, path, read.bytes);
    file.forgetSeen();
    this.#set(path, read.identity, file);
    return { identity: read.identity, file };
  }

  async #decode(disk: Disk, path: string, bytes: Uint8Array): Promise<ManifestFile> {
    const file = decodeManifestFile(bytes, path, this.#familyOf(path));
    checkReaderFlags(file.head, path);
    if (!isIncomplete(file)) return file;
    return file.completed(await this.#complete(disk, dirname(dirname(path)), file.manifest));
  }

  /**
   * Keeps a manifest that was just published, so that the next reader need not decode it.
   * @param identity identity of the file that was published
   */
  remember(path: string, identity: string, file: ManifestFile): void {
    this.#set(path, identity, file);
    const { decoded } = file;
    if (decoded !== null) this.#familyOf(path).lastDecoded = new WeakRef(decoded);
  }

  #familyOf(path: string): ManifestFamily {
    const directory = dirname(path);
    let family = this.#families.get(directory);
    if (family === undefined) {
      if (this.#families.size >= MAX_FAMILIES) this.#families.clear();
      family = { lastDecoded: null };
      this.#families.set(directory, family);
    }
    return family;
  }

  #set(path: string, identity: string, file: ManifestFile): void {
    this.#files.set(path, { identity, file }, file.byteLength * DECODED_FACTOR + ENTRY_BYTES);
  }

  clear(): void {
    this.#files.clear();
    this.#families.clear();
  }
}

async function refuseIncomplete(_disk: Disk, root: string, { version }: Manifest): Promise<Manifest> {
  throw new UnsupportedError(`version ${version} of ${root} does not state how many rows it has`);
}
