/**
 * A disk on a host of files, such as a static site or a CDN. It only reads. The index that `publishIndex`
 * writes tells which tables and versions there are. Without one, a table is found by its hint, and by asking
 * for the manifests of later versions.
 */

import { performance } from "../../async/timers.js";
import { UnsupportedError } from "../../errors.js";
import type {
  AllocateTail,
  DirectoryEntry,
  DiskImplementation,
  ReadHandle,
  StoredStat,
} from "../../io/disk/disk.js";
import { readWholeFile } from "../../io/disk/wholeFile.js";
import { LruCache } from "../../io/memory/cache.js";
import { HINT_NAME, parseManifestName } from "../../table/versions/paths.js";
import { BlockCache } from "./blockCache.js";
import { hostPathOf, isImmutable, tablePathOf } from "./hostPaths.js";
import { HttpFile, type HttpFileSource, type KnownFile, keyOf } from "./httpFile.js";
import { type HttpDiskOptions, type HttpSite, siteOf } from "./httpOptions.js";
import { type FetchedBytes, HiddenSize, HttpRequests } from "./httpRequests.js";
import { decodeHeads, type FileHead, type FilePiece, hashOf } from "./publishedHeads.js";
import { INDEX_NAME, MAX_INDEX_BYTES, type PublishedIndex, parseIndex } from "./publishedIndex.js";
import { type ProbedVersion, probeLatest } from "./versionProbe.js";

/** Bytes at the end of a file of unknown size that are read when it is opened. */
const TAIL_BYTES = 64 * 1024;
/** Maximum number of files whose size is remembered. */
const MAX_KNOWN_FILES = 65_536;
/** Maximum bytes of heads in memory. */
const MAX_HEADS_BYTES = 32 * 1024 * 1024;
/** Maximum size of a file of heads that is read. */
const MAX_HEADS_FILE_BYTES = 4 * 1024 * 1024;

/** Maximum number of tables whose latest version is remembered. */
const MAX_PROBED = 1000;

/** A file, and when the host was asked for it. */
interface RememberedFile {
  readonly file: KnownFile;
  readonly askedMs: number;
}

/** A file, and parts of it that are in memory. */
interface FoundFile {
  readonly file: KnownFile;
  readonly pieces: readonly FilePiece[];
}

/** Heads of a table by the path on the host; empty if they cannot be read. */
type Heads = ReadonlyMap<string, FileHead>;

/**
 * Returns a disk that reads tables on a host of files over HTTP. It needs ranges from the host, and makes few
 * requests if `publishIndex` wrote an index there.
 *
 *     const ns = new DirectoryNamespace({ root: "/", disk: httpDisk("https://data.example.org/tables/") });
 *
 * @param url of the directory that holds the tables; a query in it is sent with each request
 * @throws InvalidInputError for a URL or an option that is not valid
 */
export function httpDisk(url: string | URL, options: HttpDiskOptions = {}): DiskImplementation {
  return new HttpDisk(siteOf(url, options));
}

class HttpDisk implements DiskImplementation {
  readonly hasLinks = false as const;
  readonly isReadOnly = true as const;
  readonly #refreshMs: number;
  readonly #requests: HttpRequests;
  readonly #source: HttpFileSource;
  /** By the path on the host. */
  readonly #files = new LruCache<RememberedFile>(MAX_KNOWN_FILES);
  readonly #heads = new LruCache<Heads>(MAX_HEADS_BYTES);
  #index: { readonly loading: Promise<PublishedIndex | null>; readonly askedMs: number } | null = null;
  /** Latest versions that were found without an index, by table; the oldest first. */
  readonly #probed = new Map<
    string,
    { readonly finding: Promise<ProbedVersion | null>; readonly askedMs: number }
  >();

  constructor(site: HttpSite) {
    this.#refreshMs = site.refreshMs;
    this.#requests = new HttpRequests(site);
    this.#source = {
      requests: this.#requests,
      blocks: new BlockCache(site.cacheBytes),
      validators: new LruCache(MAX_KNOWN_FILES),
      onChange: ({ hostPath }) => this.#forget(hostPath),
    };
  }

  readFile(path: string, maxBytes?: number): Promise<Uint8Array | null> {
    return readWholeFile(this, path, maxBytes);
  }

  async open(path: string, tailBytes = 0, allocate?: AllocateTail): Promise<ReadHandle | null> {
    const hostPath = hostPathOf(path);
    const opened = await this.#find(path, hostPath, true);
    if (opened === null || opened === "directory") return null;
    const { file, pieces } = opened;
    const wanted = Math.min(tailBytes, file.size);
    if (pieces.length > 0 || wanted === 0) return new HttpFile(file, pieces, this.#source);
    const tail = this.#source.blocks.tail(keyOf(file), file.size, wanted);
    if (tail.length > 0) return withTail(file, tail, this.#source);
    const memory = wanted === file.size ? allocate?.(wanted) : undefined;
    const read = await new HttpFile(file, [], this.#source).read(file.size - wanted, wanted, memory);
    return withTail(file, read, this.#source);
  }

  async list(path: string): Promise<DirectoryEntry[] | null> {
    const hostPath = hostPathOf(path);
    const index = await this.#publishedIndex();
    if (index === null) return this.#listUnindexed(path, hostPath);
    const { rest } = tablePathOf(hostPath);
    if (rest.length < 2 && index.covers(`${hostPath}/any`)) return index.entries(hostPath);
    // In other directories, only the files of the latest version are known.
    const heads = await this.#headsOf(index, hostPath);
    const names = new Map<string, DirectoryEntry["kind"]>();
    for (const { name, kind } of index.entries(hostPath) ?? []) names.set(name, kind);
    for (const file of heads?.keys() ?? []) {
      if (!file.startsWith(`${hostPath}/`)) continue;
      const [name, ...below] = file.slice(hostPath.length + 1).split("/");
      names.set(name, below.length > 0 ? "directory" : "file");
    }
    return names.size === 0 ? null : Array.from(names, ([name, kind]) => ({ name, kind }));
  }

  async stat(path: string): Promise<StoredStat | null> {
    const opened = await this.#find(path, hostPathOf(path));
    if (opened === null) return null;
    if (opened === "directory") return { kind: "directory", size: 0 };
    const { size, identity } = opened.file;
    return { kind: "file", size, identity };
  }

  /** Finds a file or directory; null if it does not exist. @param isFile true if only a file counts */
  async #find(path: string, hostPath: string, isFile = false): Promise<FoundFile | "directory" | null> {
    if (hostPath === "") return "directory";
    const index = await this.#publishedIndex();
    if (index === null) return this.#findUnindexed(path, hostPath, isFile);
    const published = index.file(hostPath);
    const heads = await this.#headsOf(index, hostPath);
    const head = heads?.get(hostPath);
    if (published !== undefined) {
      const { size, etag } = published;
      const pieces = head?.size === size ? head.pieces : [];
      return { file: knownFile(path, hostPath, size, null, etag), pieces };
    }
    if (head !== undefined) {
      return { file: knownFile(path, hostPath, head.size, null, "head"), pieces: head.pieces };
    }
    if (index.entries(hostPath) !== null) return "directory";
    if (index.covers(hostPath) || heads?.has(hostPath) === true) return null;
    const isDirectory = Array.from(heads?.keys() ?? []).some((file) => file.startsWith(`${hostPath}/`));
    return isDirectory ? "directory" : this.#ask(path, hostPath);
  }

  async #findUnindexed(
    path: string,
    hostPath: string,
    isFile: boolean,
  ): Promise<FoundFile | "directory" | null> {
    const { table, rest } = tablePathOf(hostPath);
    const [part, name] = rest;
    // Records of this engine beside tables: a host without an index has none that matter to readers.
    if (hostPath.split("/").some((each) => each.startsWith(".")) || part === "_tiltyard") return null;
    if (rest.length === 0 && !isFile) {
      if (await this.#isOtherSpelling(table)) return null;
      if ((await this.#latest(table)) !== null) return "directory";
    }
    if (part === "_versions") {
      const latest = await this.#latest(table);
      if (latest === null) return null;
      if (rest.length === 1) return "directory";
      const version = parseVersion(name);
      if (version !== null && version > latest.version) return null;
      if (name === HINT_NAME && latest.hint === null) return null;
    } else if (rest.length > 0 && rest.length < (part === "_indices" ? 3 : 2)) {
      return "directory";
    }
    return this.#ask(path, hostPath);
  }

  async #listUnindexed(path: string, hostPath: string): Promise<DirectoryEntry[] | null> {
    const { table, rest } = tablePathOf(hostPath);
    if (rest.length === 1 && rest[0] === "_versions") {
      const latest = await this.#latest(table);
      return latest && [{ name: latest.name, kind: "file" }];
    }
    if (hostPath !== "" && rest.length === 0 && (await this.#latest(table)) === null) {
      // An index further down means that the URL of the disk is not that of the namespace.
      const index = await this.#requests.whole(`${hostPath}/${INDEX_NAME}`, MAX_INDEX_BYTES);
      if (index === null) return null;
      throw new UnsupportedError(`${path}: its index (${INDEX_NAME}) is not at the URL of the disk`);
    }
    throw new UnsupportedError(
      `${path}: a host of files cannot list; publishIndex writes an index (${INDEX_NAME}) that tells what there is`,
    );
  }

  /** True if a table is known whose name differs in case only: a host that ignores case has one table. */
  async #isOtherSpelling(table: string): Promise<boolean> {
    const folded = table.toLowerCase();
    for (const [probed, { finding }] of this.#probed) {
      if (probed !== table && probed.toLowerCase() === folded && (await finding) !== null) return true;
    }
    return false;
  }

  /** Asks the host for a file of unknown size; answers from memory if it was asked recently. */
  async #ask(path: string, hostPath: string): Promise<FoundFile | null> {
    const remembered = this.#files.peek(hostPath);
    if (remembered !== undefined) {
      if (isImmutable(hostPath) || this.#isFresh(remembered.askedMs))
        return { file: remembered.file, pieces: [] };
    }
    const askedMs = performance.now();
    const fetched = await this.#lastBytes(hostPath);
    if (fetched === null) {
      this.#files.delete(hostPath);
      return null;
    }
    const { start, bytes, validator } = fetched;
    const size = fetched.size ?? start + bytes.length;
    // Without a validator, the last bytes tell at least some changes.
    const file = knownFile(path, hostPath, size, validator, validator ?? hashOf(bytes));
    this.#files.set(hostPath, { file, askedMs }, 1);
    this.#source.blocks.keep(keyOf(file), start, bytes, size);
    const tail = bytes.subarray(Math.max(0, bytes.length - TAIL_BYTES));
    return { file, pieces: tailPieces(file, tail) };
  }

  async #lastBytes(hostPath: string): Promise<FetchedBytes | null> {
    try {
      return await this.#requests.range(hostPath, { last: TAIL_BYTES }, null);
    } catch (error) {
      if (!(error instanceof HiddenSize)) throw error;
      const size = await this.#requests.size(hostPath);
      if (size === null) return null;
      if (size === 0) return { start: 0, bytes: new Uint8Array(0), size, validator: null };
      return this.#requests.range(hostPath, { start: Math.max(0, size - TAIL_BYTES), end: size }, size);
    }
  }

  /** Returns the latest version of a table without an index. */
  #latest(table: string): Promise<ProbedVersion | null> {
    const probed = this.#probed.get(table);
    if (probed !== undefined && this.#isFresh(probed.askedMs)) return probed.finding;
    const askedMs = performance.now();
    const isThere = async (hostPath: string): Promise<boolean> => {
      const remembered = this.#files.peek(hostPath);
      if (remembered === undefined || !this.#isFresh(remembered.askedMs)) this.#files.delete(hostPath);
      return (await this.#ask(`/${hostPath}`, hostPath)) !== null;
    };
    const finding = probeLatest(
      {
        whole: async (hostPath) => {
          this.#files.delete(hostPath);
          const opened = await this.#ask(`/${hostPath}`, hostPath);
          return opened && new HttpFile(opened.file, opened.pieces, this.#source).read(0, opened.file.size);
        },
        hasManifest: isThere,
      },
      table,
    );
    const entry = { finding, askedMs };
    this.#probed.delete(table);
    this.#probed.set(table, entry);
    const [oldest] = this.#probed.keys();
    if (this.#probed.size > MAX_PROBED) this.#probed.delete(oldest);
    // A failure is not remembered.
    finding.catch(() => {
      if (this.#probed.get(table) === entry) this.#probed.delete(table);
    });
    return finding;
  }

  /** Returns the index of the namespace; null if the host has none. */
  #publishedIndex(): Promise<PublishedIndex | null> {
    if (this.#index !== null && this.#isFresh(this.#index.askedMs)) return this.#index.loading;
    const entry = { loading: this.#loadIndex(), askedMs: performance.now() };
    this.#index = entry;
    entry.loading.catch(() => {
      if (this.#index === entry) this.#index = null;
    });
    return entry.loading;
  }

  async #loadIndex(): Promise<PublishedIndex | null> {
    const fetched = await this.#requests.whole(INDEX_NAME, MAX_INDEX_BYTES);
    return fetched === null ? null : parseIndex(fetched.bytes);
  }

  /** Returns the heads of the table of a path; null if it has none. */
  async #headsOf(index: PublishedIndex, hostPath: string): Promise<Heads | null> {
    const table = index.tableOf(hostPath);
    if (table === undefined || table.heads === null || tablePathOf(hostPath).rest.length < 2) return null;
    const { location, heads } = table;
    const path = `${location}/${heads.path}`;
    return this.#heads.get(`${path}|${heads.etag}`, async () => {
      const fetched = await this.#requests.whole(path, MAX_HEADS_FILE_BYTES);
      const isPublished = fetched !== null && hashOf(fetched.bytes) === heads.etag;
      // Heads of another publication, or none, only cost requests.
      const decoded = isPublished ? decodeHeads(fetched.bytes) : null;
      const value = new Map<string, FileHead>();
      for (const [name, head] of decoded ?? []) value.set(`${location}/${name}`, head);
      return { value, weight: 256 * value.size + (fetched?.bytes.length ?? 0) };
    });
  }

  /** Forgets what is known of a file that changed. */
  #forget(hostPath: string): void {
    this.#files.delete(hostPath);
    this.#probed.clear();
    this.#index = null;
  }

  #isFresh(askedMs: number): boolean {
    return performance.now() - askedMs < this.#refreshMs;
  }
}

function parseVersion(name: string): number | null {
  try {
    return parseManifestName(name)?.version ?? null;
  } catch (error) {
    if (error instanceof UnsupportedError) return null;
    throw error;
  }
}

/** @param mark changes with the content */
const knownFile = (
  path: string,
  hostPath: string,
  size: number,
  validator: string | null,
  mark: string,
): KnownFile => ({ path, hostPath, size, validator, identity: `${size}-${mark}` });

const tailPieces = ({ size }: KnownFile, tail: Uint8Array): FilePiece[] =>
  tail.length === 0 ? [] : [{ start: size - tail.length, bytes: tail }];

const withTail = (file: KnownFile, tail: Uint8Array, source: HttpFileSource): HttpFile =>
  new HttpFile(file, tailPieces(file, tail), source);
