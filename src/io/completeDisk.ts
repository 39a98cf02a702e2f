/**
 * Completes a disk: adds the calls that an implementation lacks, made of calls that it has. A call that
 * nothing can replace throws a MissingVerbError or, on a disk that cannot write, a ReadOnlyDiskError.
 *
 * On a disk without `makeDirectory`, a directory exists exactly while files lie below it. So making one does
 * nothing, and no directory is ever empty. Such a directory has no times and no inode. Its stat says that it
 * has just changed, so that nobody takes an older look at it for the current state.
 */

import { lazyModule } from "../async/lazy.js";
import { CorruptFileError } from "../errors.js";
import { join, resolve } from "../platform/native.js";
import type {
  AllocateTail,
  DirectoryEntry,
  Disk,
  DiskImplementation,
  FileStat,
  ReadHandle,
  ScratchDirectory,
  StoredStat,
  WriteHandle,
} from "./disk/disk.js";
import { diskError } from "./disk/errno.js";
import type { DiskLocks } from "./disk/locks.js";
import { type DiskVerb, MissingVerbError, ReadOnlyDiskError } from "./disk/missingVerb.js";
import { FAR_FUTURE_NS } from "./disk/timeless.js";
import { readWholeFile } from "./disk/wholeFile.js";
import { lazyLocks } from "./lock/lazyLocks.js";
import { LEASE_LOOK_MS } from "./lock/lease.js";

/** Loaded with the first lock. */
const leases = lazyModule(() => import("./lock/leaseLocks.js"));

/** Number of directory stats so far; it makes their identities unique. */
let lookCount = 0;

const REQUIRED = [
  ..."open list readFile create link rename remove removeTree removeEmptyDirectory".split(" "),
  ..."makeDirectory stat realPath syncFile syncDirectory".split(" "),
];

/** Returns true if an implementation has all calls that the engine makes. */
const isComplete = (disk: DiskImplementation): disk is Disk =>
  disk.isReadOnly !== true &&
  REQUIRED.every((verb) => typeof disk[verb as keyof DiskImplementation] === "function");

/**
 * Returns a disk with all calls that the engine makes; the implementation itself if it has them all.
 * @param scratch directory for files that exceed memory, if the disk has no place for them
 */
export function completeDisk(disk: DiskImplementation, scratch?: ScratchDirectory): Disk {
  return isComplete(disk) ? disk : new CompletedDisk(disk, scratch);
}

class CompletedDisk implements Disk {
  readonly #disk: DiskImplementation;
  readonly isReadOnly?: true;
  readonly isPrivate?: true;
  readonly hasDirectories?: false;
  readonly hasRename?: false;
  readonly hasLinks?: false;
  readonly scratch?: ScratchDirectory;
  readonly locks?: DiskLocks;
  readonly putIfAbsent?: NonNullable<Disk["putIfAbsent"]>;
  readonly replaceIf?: NonNullable<Disk["replaceIf"]>;
  readonly overwrite?: NonNullable<Disk["overwrite"]>;
  readonly watchDirectory?: NonNullable<Disk["watchDirectory"]>;
  readonly isLink?: NonNullable<Disk["isLink"]>;
  readonly uriOf?: NonNullable<Disk["uriOf"]>;
  readonly pathOf?: NonNullable<Disk["pathOf"]>;

  constructor(disk: DiskImplementation, scratch?: ScratchDirectory) {
    this.#disk = disk;
    if (disk.isReadOnly === true) this.isReadOnly = true;
    if (disk.isPrivate === true) this.isPrivate = true;
    if (disk.makeDirectory === undefined) this.hasDirectories = false;
    if (disk.rename === undefined || disk.link === undefined) this.hasRename = false;
    if (disk.hasLinks === false || disk.realPath === undefined) this.hasLinks = false;
    // A file of a disk without renames is seldom readable while it is written.
    const fallback = this.isReadOnly || this.hasRename === false ? scratch : undefined;
    const ownScratch = disk.scratch ?? fallback;
    if (ownScratch !== undefined) this.scratch = ownScratch;
    const { putIfAbsent, replaceIf, overwrite, watchDirectory, isLink } = disk;
    if (watchDirectory !== undefined) this.watchDirectory = watchDirectory.bind(disk);
    if (isLink !== undefined) this.isLink = isLink.bind(disk);
    if (disk.uriOf !== undefined) this.uriOf = disk.uriOf.bind(disk);
    if (disk.pathOf !== undefined) this.pathOf = disk.pathOf.bind(disk);
    if (!this.isReadOnly) {
      if (putIfAbsent !== undefined) this.putIfAbsent = putIfAbsent.bind(disk);
      if (replaceIf !== undefined) this.replaceIf = replaceIf.bind(disk);
      if (overwrite !== undefined) this.overwrite = overwrite.bind(disk);
    }
    this.locks = this.isReadOnly ? noLocks((path) => new ReadOnlyDiskError(path)) : locksOf(disk, this);
  }

  async readFile(path: string, maxBytes?: number): Promise<Uint8Array | null> {
    return this.#disk.readFile === undefined
      ? readWholeFile(this.#disk, path, maxBytes)
      : this.#disk.readFile(path, maxBytes);
  }

  open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle | null> {
    return this.#disk.open(path, tailBytes, allocate);
  }

  list(path: string): Promise<DirectoryEntry[] | null> {
    return this.#disk.list(path);
  }

  async stat(path: string): Promise<FileStat | null> {
    const stat = this.#disk.stat === undefined ? await this.#look(path) : await this.#disk.stat(path);
    return stat && completeStat(stat);
  }

  /** Looks at a path without a call for that: opens a file, else lists a directory. */
  async #look(path: string): Promise<StoredStat | null> {
    let handle: ReadHandle | null = null;
    try {
      handle = await this.#disk.open(path);
    } catch (error) {
      // A disk with directories refuses to open one.
      if (!(error instanceof CorruptFileError)) throw error;
    }
    if (handle !== null) {
      const { size, identity } = handle;
      await handle.close();
      return { kind: "file", size, identity };
    }
    return (await this.#disk.list(path)) === null ? null : { kind: "directory", size: 0 };
  }

  async create(path: string, access?: "private"): Promise<WriteHandle> {
    this.#checkWritable(path);
    if (this.#disk.create !== undefined) return this.#disk.create(path, access);
    const { putIfAbsent } = this;
    if (putIfAbsent === undefined) throw new MissingVerbError("create", path);
    const chunks: Uint8Array[] = [];
    return {
      takesChunksAtOnce: true,
      write: async (more) => void chunks.push(...more.map((chunk) => chunk.slice())),
      sync: async () => undefined,
      async close() {
        if (await putIfAbsent(path, chunks)) return;
        throw diskError("EEXIST", "open", path);
      },
    };
  }

  async link(existingPath: string, newPath: string): Promise<void> {
    if (this.#disk.link === undefined) throw this.#missing("link", newPath);
    return this.#disk.link(existingPath, newPath);
  }

  async rename(fromPath: string, toPath: string): Promise<void> {
    if (this.#disk.rename === undefined) throw this.#missing("rename", fromPath);
    this.#checkWritable(fromPath);
    return this.#disk.rename(fromPath, toPath);
  }

  async remove(path: string, byteLength?: number): Promise<void> {
    if (this.#disk.remove === undefined) throw this.#missing("remove", path);
    this.#checkWritable(path);
    return this.#disk.remove(path, byteLength);
  }

  async removeTree(path: string): Promise<void> {
    this.#checkWritable(path);
    if (this.#disk.removeTree !== undefined) return this.#disk.removeTree(path);
    for (const { name, kind } of (await this.list(path)) ?? []) {
      const entryPath = join(path, name);
      if (kind === "directory") await this.removeTree(entryPath);
      else await this.remove(entryPath);
    }
    if (this.hasDirectories === false) await this.remove(path);
    else await this.removeEmptyDirectory(path);
  }

  async removeEmptyDirectory(path: string): Promise<boolean> {
    this.#checkWritable(path);
    return (await this.#disk.removeEmptyDirectory?.(path)) ?? false;
  }

  async makeDirectory(path: string, within?: string): Promise<boolean> {
    this.#checkWritable(path);
    if (this.#disk.makeDirectory !== undefined) return this.#disk.makeDirectory(path, within);
    return false;
  }

  async realPath(path: string): Promise<string | null> {
    return this.#disk.realPath === undefined ? resolve(path) : this.#disk.realPath(path);
  }

  async syncFile(path: string): Promise<void> {
    await this.#disk.syncFile?.(path);
  }

  async syncDirectory(path: string): Promise<void> {
    await this.#disk.syncDirectory?.(path);
  }

  #missing(verb: DiskVerb, path: string): Error {
    return this.isReadOnly ? new ReadOnlyDiskError(path) : new MissingVerbError(verb, path);
  }

  #checkWritable(path: string): void {
    if (this.isReadOnly) throw new ReadOnlyDiskError(path);
  }
}

/** Returns the locks of a disk, which may be made of its other calls; undefined: those of the file system. */
function locksOf(disk: DiskImplementation, complete: Disk): DiskLocks | undefined {
  if (disk.locks !== undefined) return disk.locks;
  if (hasLeaseVerbs(disk)) {
    return lazyLocks(async () => (await leases.get()).leaseLocks(complete), { lookMs: LEASE_LOOK_MS });
  }
  // A wrapper of the local file system has directories with inodes, which its locks need.
  if (disk.rename !== undefined && disk.makeDirectory !== undefined) return undefined;
  return noLocks((path) => new MissingVerbError("locks", path));
}

/** True if locks can be made of the calls of a disk. Without `remove`, each would stay until it is stale. */
export const hasLeaseVerbs = ({ putIfAbsent, replaceIf, remove }: DiskImplementation): boolean =>
  putIfAbsent !== undefined && replaceIf !== undefined && remove !== undefined;

const noLocks = (refusal: (path: string) => Error): DiskLocks => ({
  tryAcquire: async (directory) => {
    throw refusal(directory);
  },
  stateOf: async () => "free",
});

function completeStat({ kind, size, ...times }: StoredStat): FileStat {
  if (kind === "directory" && times.changedNs === undefined) {
    const { inode = "", birthNs = 0n, links = 1 } = times;
    const identity = times.identity ?? `directory-${lookCount++}`;
    return {
      kind,
      size,
      inode,
      birthNs,
      links,
      identity,
      modifiedNs: FAR_FUTURE_NS,
      changedNs: FAR_FUTURE_NS,
    };
  }
  const { modifiedNs = 0n, inode = "", birthNs = 0n, links = 1 } = times;
  const { changedNs = modifiedNs } = times;
  const identity = times.identity ?? `${size}-${modifiedNs}`;
  return { kind, size, inode, birthNs, links, identity, modifiedNs, changedNs };
}
