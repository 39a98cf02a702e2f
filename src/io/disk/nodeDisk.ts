/**
 * The disk of Node.js. What always holds:
 *
 * - A read returns exactly the bytes asked for, in an ArrayBuffer of its own, never a slice of Node's shared
 *   pool: callers lay typed arrays over it and keep it.
 * - A descriptor is closed only when no call on it is under way. Closing earlier would let another file take
 *   the number, and the call would read or write that file.
 * - Only regular files are opened: what waits for another process (a FIFO, a device) would hold a thread for good.
 *   Opening such a thing does not wait, and what was opened is looked at before it is read. Links are not followed.
 * - With durability "none" nothing is ever synced; all else is the same.
 * - Calls that open something wait where the process is out of descriptors, see shortage.ts. For that they have to fail:
 *   those of fs-extra would wait on their own, and nobody would learn that idle files are in the way.
 *
 * Short calls may run in line, see callRoute.ts.
 */

import { open, readdir } from "node:fs";
import path from "node:path";
import fs from "fs-extra";
import { CorruptFileError, InternalError } from "../../errors.js";
import { isPending } from "../memory/pending.js";
import { onPool, pageWrites, shortCalls } from "./callRoute.js";
import type { DirectoryEntry, Disk, FileStat, ReadHandle, ReadPieces, WriteHandle } from "./disk.js";
import { codeOf, isMissing } from "./errno.js";
import { LinkedFileError } from "./linkedFile.js";
import { outlastShortage } from "./shortage.js";

export interface NodeDiskOptions {
  /** "fsync": `sync`, `syncFile`, `syncDirectory` and `makeDirectory` reach the device. "none": they don't. */
  readonly durability: "fsync" | "none";
}

/** Up to this size a read or write of cached bytes is a short call: it costs less than the trip to a pool thread. */
const MAX_INLINE_BYTES = 128 * 1024;

/**
 * A write of this size into the page cache takes a quarter of a millisecond, the trip to a pool thread half as much
 * on top. Larger ones take the trip: the next page can be encoded meanwhile.
 */
const MAX_INLINE_WRITE_BYTES = 1024 * 1024;

/** A longer read is cut into parts of at least this size that pool threads copy side by side. */
const MIN_PART_BYTES = 4 * 1024 * 1024;

/** Half the pool's default four threads would do for memory bandwidth; four also keep a device queue busy. */
const MAX_PARTS = 4;

/** Linux moves at most 0x7ffff000 bytes per call; Node refuses above 2^31 - 1. */
const MAX_CALL_BYTES = 1 << 30;

/** POSIX guarantees 16, every platform Node runs on has 1024. */
const MAX_VECTORS = 512;

/** Directories whose own name is known to be durable; the set starts over when it is full. */
const MAX_DURABLE_DIRECTORIES = 4096;

/** Attempts to make a directory that others make and remove at the same time. */
const MAX_MAKE_ATTEMPTS = 10;

/** Entries of a directory that is removed, all at the same time where calls are slow. */
const REMOVED_AT_ONCE = 64;

/** Platforms that lack one of these have no such constant. */
const { O_RDONLY, O_RDWR, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
const READ_FLAGS = O_RDONLY | O_NONBLOCK | O_NOFOLLOW;
const OVERWRITE_FLAGS = O_RDWR | O_NONBLOCK | O_NOFOLLOW;
const SYNC_FLAGS = O_RDONLY | O_NONBLOCK;
/** What platforms say of a link that is not to be followed. */
const LINK_CODES: ReadonlySet<string | undefined> = new Set(["ELOOP", "EMLINK", "EFTYPE"]);
/** What they say of a socket, or a device that is not there. */
const SPECIAL_CODES: ReadonlySet<string | undefined> = new Set(["ENXIO", "ENODEV", "EOPNOTSUPP"]);

const WINDOWS = process.platform === "win32";
const WINDOWS_ATTEMPTS = 6;

export class NodeDisk implements Disk {
  readonly #durable: boolean;
  readonly #durableDirectories = new Set<string>();

  constructor(options: NodeDiskOptions) {
    this.#durable = options.durability === "fsync";
  }

  async readFile(filePath: string, maxBytes = Number.MAX_SAFE_INTEGER): Promise<Uint8Array | null> {
    const handle = await this.open(filePath);
    if (handle === null) return null;
    try {
      if (handle.size > maxBytes) {
        throw new CorruptFileError(filePath, maxBytes, `${handle.size} bytes, more than ${maxBytes}`);
      }
      return await handle.read(0, handle.size);
    } finally {
      await handle.close();
    }
  }

  async open(filePath: string, tailBytes = 0): Promise<ReadHandle | null> {
    const wanted = Math.min(tailBytes, MAX_INLINE_BYTES);
    try {
      return await shortCalls.runTogether(
        () => openInLine(filePath, wanted),
        () => openOnPool(filePath, wanted),
      );
    } catch (error) {
      const code = codeOf(error);
      if (LINK_CODES.has(code) && (await isLink(filePath).catch(() => false))) {
        if ((await this.realPath(filePath)) === null) return null;
        throw new LinkedFileError(filePath, { cause: error });
      }
      if (isMissing(error)) return null;
      if (SPECIAL_CODES.has(code)) throw notRegular(filePath, error);
      throw error;
    }
  }

  async create(filePath: string): Promise<WriteHandle> {
    const fd = await shortCalls.run(
      () => fs.openSync(filePath, "wx"),
      (done) => open(filePath, "wx", done),
    );
    return new NodeWriteHandle(fd, filePath, this.#durable);
  }

  async overwrite(filePath: string, bytes: Uint8Array): Promise<boolean> {
    let fd: number;
    try {
      fd = await shortCalls.run(
        () => fs.openSync(filePath, OVERWRITE_FLAGS),
        (done) => open(filePath, OVERWRITE_FLAGS, done),
      );
    } catch (error) {
      if (isMissing(error) || LINK_CODES.has(codeOf(error))) return false;
      throw error;
    }
    const handle = new NodeWriteHandle(fd, filePath, this.#durable);
    try {
      const stats = await shortCalls.run(
        () => fs.fstatSync(fd),
        (done) => fs.fstat(fd, done),
      );
      if (!stats.isFile() || stats.size !== bytes.length) return false;
      await handle.write([bytes]);
      return true;
    } finally {
      await handle.close();
    }
  }

  link(existingPath: string, newPath: string): Promise<void> {
    return shortCalls.run(
      () => fs.linkSync(existingPath, newPath),
      (done) => fs.link(existingPath, newPath, (error) => done(error, undefined)),
    );
  }

  rename(fromPath: string, toPath: string): Promise<void> {
    return whileHeldByOthers(() =>
      shortCalls.run(
        () => fs.renameSync(fromPath, toPath),
        (done) => fs.rename(fromPath, toPath, (error) => done(error, undefined)),
      ),
    );
  }

  async remove(filePath: string): Promise<void> {
    try {
      await whileHeldByOthers(() => unlink(filePath));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  async removeTree(directory: string): Promise<void> {
    try {
      // A link that stands for the tree goes, and what it leads to is somebody else's.
      if (await isLink(directory)) await unlink(directory);
      else await removeTreeInShortCalls(directory);
    } catch {
      // What others put there or hold on to meanwhile, and what is no directory, takes longer.
      await removeStubbornTree(directory);
    }
  }

  async removeEmptyDirectory(directory: string): Promise<boolean> {
    try {
      await removeDirectory(directory);
      return true;
    } catch (error) {
      // POSIX lets a system say EEXIST for a directory that is not empty; Windows may hold on to one in use.
      const full = ["ENOTEMPTY", "EEXIST", "EBUSY", "EPERM"].includes(codeOf(error) ?? "");
      if (full || isMissing(error)) return false;
      throw error;
    }
  }

  async makeDirectory(directory: string, within?: string): Promise<boolean> {
    const made = await makeDirectories(directory, within);
    if (this.#durable) await this.#makeNamesDurable(path.resolve(directory));
    return made;
  }

  async list(directory: string): Promise<DirectoryEntry[] | null> {
    let found: fs.Dirent[];
    try {
      found = await shortCalls.run(
        () => fs.readdirSync(directory, { withFileTypes: true }),
        (done) => readdir(directory, { withFileTypes: true }, done),
      );
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
    const entries: DirectoryEntry[] = [];
    for (const entry of found) {
      if (entry.isSymbolicLink()) {
        const target = await this.stat(path.join(directory, entry.name));
        entries.push({ name: entry.name, kind: target?.kind ?? "other" });
      } else {
        entries.push({ name: entry.name, kind: kindOf(entry) });
      }
    }
    return entries;
  }

  stat(filePath: string): Promise<FileStat | null> {
    return statAs(filePath, (stats) => ({
      kind: kindOf(stats),
      size: Number(stats.size),
      modifiedNs: stats.mtimeNs,
      changedNs: stats.ctimeNs,
      birthNs: stats.birthtimeNs,
      inode: `${stats.dev}:${stats.ino}`,
      identity: identityOf(stats),
      links: Number(stats.nlink),
    }));
  }

  async realPath(filePath: string): Promise<string | null> {
    try {
      return await onPool<string>((done) => fs.realpath.native(filePath, done));
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async isLink(filePath: string): Promise<boolean> {
    try {
      return await isLink(filePath);
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async syncFile(filePath: string): Promise<void> {
    if (!this.#durable) return;
    // Windows flushes only through a descriptor that may write.
    await withDescriptor(filePath, WINDOWS ? O_RDWR : SYNC_FLAGS, syncDescriptor);
  }

  async syncDirectory(directory: string): Promise<void> {
    if (!this.#durable || WINDOWS) return;
    try {
      await withDescriptor(directory, SYNC_FLAGS, (fd) =>
        onPool<void>((done) => fs.fsync(fd, (error) => done(error, undefined))),
      );
    } catch (error) {
      // File systems that keep directories durable by themselves refuse with one of these.
      const code = codeOf(error);
      if (code !== "EISDIR" && code !== "EPERM" && code !== "EINVAL") throw error;
    }
  }

  /**
   * Syncs the names of a directory and of those above it, each once: one that is there already may have been
   * made a moment ago by another process, or by a call that failed half-way, and what is published in it must
   * not be lost with it. Birth time and inode tell a directory from its successor under the same path.
   */
  async #makeNamesDurable(directory: string): Promise<void> {
    for (let parent = path.dirname(directory); parent !== directory; parent = path.dirname(directory)) {
      const stats = await statOrNull(directory);
      if (stats === null) return;
      const key = `${stats.dev}:${stats.ino}:${stats.birthtimeNs}:${directory}`;
      if (this.#durableDirectories.has(key)) return;
      try {
        await this.syncDirectory(parent);
      } catch (error) {
        // Above what this user may read, directories are not ours to make.
        if (codeOf(error) !== "EACCES") throw error;
        return;
      }
      if (this.#durableDirectories.size >= MAX_DURABLE_DIRECTORIES) this.#durableDirectories.clear();
      this.#durableDirectories.add(key);
      directory = parent;
    }
  }
}

/** An open descriptor that outlives every call made on it. */
class OpenFile {
  readonly path: string;
  readonly #fd: number;
  #callsUnderWay = 0;
  #whenIdle: (() => void) | null = null;
  #closing: Promise<void> | null = null;

  constructor(fd: number, filePath: string) {
    this.#fd = fd;
    this.path = filePath;
  }

  protected async use<T>(call: (fd: number) => Promise<T>): Promise<T> {
    return this.useAtOnce(call);
  }

  /** As `use`, for calls that may be over at once; those throw. */
  protected useAtOnce<Result>(call: (fd: number) => Result): Result {
    if (this.#closing !== null) throw new InternalError(`${this.path} was used after it was closed`);
    this.#callsUnderWay++;
    let isUnderWay = false;
    const end = () => {
      if (--this.#callsUnderWay === 0) this.#whenIdle?.();
    };
    try {
      const result = call(this.#fd);
      if (!isPending(result)) return result;
      isUnderWay = true;
      return result.finally(end) as Result;
    } finally {
      if (!isUnderWay) end();
    }
  }

  /** Closes once the calls under way are done; closing twice is the same as once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#callsUnderWay > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    await closeDescriptor(this.#fd);
  }
}

/** The calls of an opening, one behind the other on this thread: together they are as short as each of them. */
function openInLine(filePath: string, tailBytes: number): NodeReadHandle {
  if (O_NOFOLLOW === 0 && fs.lstatSync(filePath).isSymbolicLink()) throw new LinkedFileError(filePath);
  const fd = fs.openSync(filePath, READ_FLAGS);
  try {
    const stats = fs.fstatSync(fd, { bigint: true });
    if (!stats.isFile()) throw notRegular(filePath);
    const tail = tailMemory(stats, tailBytes);
    const start = Number(stats.size) - tail.length;
    for (let done = 0; done < tail.length; ) {
      const bytesRead = fs.readSync(fd, tail, done, tail.length - done, start + done);
      if (bytesRead === 0) throw endsEarly(filePath, start, tail.length, start + done);
      done += bytesRead;
    }
    return new NodeReadHandle(fd, filePath, stats, tail);
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

async function openOnPool(filePath: string, tailBytes: number): Promise<NodeReadHandle> {
  if (O_NOFOLLOW === 0 && (await isLink(filePath))) throw new LinkedFileError(filePath);
  const fd = await onPool<number>((done) => open(filePath, READ_FLAGS, done));
  try {
    const stats = await onPool<fs.BigIntStats>((done) => fs.fstat(fd, { bigint: true }, done));
    if (!stats.isFile()) throw notRegular(filePath);
    const tail = tailMemory(stats, tailBytes);
    const start = Number(stats.size) - tail.length;
    for (let done = 0; done < tail.length; ) {
      const from = done;
      const bytesRead = await onPool<number>((call) =>
        fs.read(fd, tail, from, tail.length - from, start + from, call),
      );
      if (bytesRead === 0) throw endsEarly(filePath, start, tail.length, start + done);
      done += bytesRead;
    }
    return new NodeReadHandle(fd, filePath, stats, tail);
  } catch (error) {
    await closeDescriptor(fd);
    throw error;
  }
}

/** Not zero-filled: every byte is read, or the memory is dropped. */
const tailMemory = (stats: fs.BigIntStats, tailBytes: number): Buffer =>
  Buffer.allocUnsafeSlow(Math.min(Number(stats.size), tailBytes));

class NodeReadHandle extends OpenFile implements ReadHandle {
  readonly size: number;
  readonly identity: string;
  #tail: Buffer | null;

  /** @param tail the file's last bytes */
  constructor(fd: number, filePath: string, stats: fs.BigIntStats, tail: Buffer) {
    super(fd, filePath);
    this.size = Number(stats.size);
    this.identity = identityOf(stats);
    this.#tail = tail.length > 0 ? tail : null;
  }

  takeTail(): Uint8Array | null {
    const tail = this.#tail;
    this.#tail = null;
    return tail && new Uint8Array(tail.buffer, 0, tail.length);
  }

  read(byteOffset: number, length: number): Promise<Uint8Array> {
    return this.use(async (fd) => {
      if (!isRange(byteOffset, length)) {
        throw new CorruptFileError(this.path, 0, `no such range: ${length} bytes at ${byteOffset}`);
      }
      if (byteOffset + length > this.size) throw endsEarly(this.path, byteOffset, length, this.size);
      if (length === 0) return new Uint8Array(0);
      // Not zero-filled: every byte is written below or the memory is dropped.
      const target = Buffer.allocUnsafeSlow(length);
      if (length < 2 * MIN_PART_BYTES) {
        await this.#readPart(fd, target, byteOffset, 0, length);
      } else {
        const partCount = Math.min(MAX_PARTS, Math.floor(length / MIN_PART_BYTES));
        const partBytes = Math.ceil(length / partCount / 4096) * 4096;
        const parts: Promise<void>[] = [];
        for (let start = 0; start < length; start += partBytes) {
          parts.push(this.#readPart(fd, target, byteOffset, start, Math.min(length, start + partBytes)));
        }
        // All of them: none may write into memory, or use the descriptor, after this call has failed.
        for (const outcome of await Promise.allSettled(parts)) {
          if (outcome.status === "rejected") throw outcome.reason;
        }
      }
      return new Uint8Array(target.buffer, 0, length);
    });
  }

  readInto(target: Uint8Array, pieces: ReadPieces): Promise<void> | undefined {
    return this.useAtOnce((fd) => {
      this.#checkPieces(target, pieces);
      const { byteOffsets, lengths, positions } = cutPieces(pieces);
      const fail = (index: number) =>
        endsEarly(this.path, byteOffsets[index], lengths[index], byteOffsets[index] + lengths[index]);
      return shortCalls.runMany(
        lengths,
        (index) => {
          let done = 0;
          for (const length = lengths[index]; done < length; ) {
            const bytesRead = fs.readSync(
              fd,
              target,
              positions[index] + done,
              length - done,
              byteOffsets[index] + done,
            );
            if (bytesRead === 0) throw fail(index);
            done += bytesRead;
          }
        },
        async (index) => {
          let done = 0;
          for (const length = lengths[index]; done < length; ) {
            const from = positions[index] + done;
            const bytesRead = await onPool<number>((call) =>
              fs.read(fd, target, from, length - done, byteOffsets[index] + done, call),
            );
            if (bytesRead === 0) throw fail(index);
            done += bytesRead;
          }
        },
      );
    });
  }

  /** Before anything is read: every piece lies within the file, and its bytes within the target. */
  #checkPieces(target: Uint8Array, { byteOffsets, lengths, positions }: ReadPieces): void {
    for (let index = 0; index < byteOffsets.length; index++) {
      const byteOffset = byteOffsets[index];
      const length = lengths[index];
      if (!isRange(byteOffset, length)) {
        throw new CorruptFileError(this.path, 0, `no such range: ${length} bytes at ${byteOffset}`);
      }
      if (byteOffset + length > this.size) throw endsEarly(this.path, byteOffset, length, this.size);
      if (!isRange(positions[index], length) || positions[index] + length > target.length) {
        throw new InternalError(`${length} bytes at ${positions[index]} of ${target.length} bytes of memory`);
      }
    }
  }

  /** Fills `target[start, end)`; `byteOffset` is where `target[0]` lies in the file. */
  async #readPart(fd: number, target: Buffer, byteOffset: number, start: number, end: number): Promise<void> {
    while (start < end) {
      const from = start;
      const wanted = Math.min(end - from, MAX_CALL_BYTES);
      const bytesRead =
        wanted <= MAX_INLINE_BYTES
          ? await shortCalls.run<number>(
              () => fs.readSync(fd, target, from, wanted, byteOffset + from),
              (done) => fs.read(fd, target, from, wanted, byteOffset + from, done),
            )
          : await onPool<number>((done) => fs.read(fd, target, from, wanted, byteOffset + from, done));
      if (bytesRead === 0) throw endsEarly(this.path, byteOffset, target.length, byteOffset + from);
      start += bytesRead;
    }
  }
}

const notRegular = (filePath: string, cause?: unknown): CorruptFileError =>
  new CorruptFileError(filePath, 0, "it is no regular file", cause === undefined ? undefined : { cause });

const endsEarly = (filePath: string, byteOffset: number, length: number, fileEnd: number): CorruptFileError =>
  new CorruptFileError(
    filePath,
    byteOffset,
    `wanted ${length} bytes from here, but the file ends at ${fileEnd}`,
  );

function isRange(start: number, length: number): boolean {
  return Number.isSafeInteger(start) && Number.isSafeInteger(length) && start >= 0 && length >= 0;
}

/** The same bytes in pieces that may be read in line. */
function cutPieces(pieces: ReadPieces): ReadPieces {
  const { lengths } = pieces;
  let count = 0;
  for (let index = 0; index < lengths.length; index++) count += Math.ceil(lengths[index] / MAX_INLINE_BYTES);
  let whole = count === lengths.length;
  for (let index = 0; index < lengths.length && whole; index++) whole = lengths[index] > 0;
  if (whole) return pieces;
  const cut = {
    byteOffsets: new Float64Array(count),
    lengths: new Float64Array(count),
    positions: new Float64Array(count),
  };
  let next = 0;
  for (let index = 0; index < lengths.length; index++) {
    for (let start = 0; start < lengths[index]; start += MAX_INLINE_BYTES, next++) {
      cut.byteOffsets[next] = pieces.byteOffsets[index] + start;
      cut.lengths[next] = Math.min(MAX_INLINE_BYTES, lengths[index] - start);
      cut.positions[next] = pieces.positions[index] + start;
    }
  }
  return cut;
}

class NodeWriteHandle extends OpenFile implements WriteHandle {
  readonly #durable: boolean;
  #position = 0;

  constructor(fd: number, filePath: string, durable: boolean) {
    super(fd, filePath);
    this.#durable = durable;
  }

  write(chunks: readonly Uint8Array[]): Promise<void> {
    return this.use(async (fd) => {
      let chunkIndex = 0;
      let chunkStart = 0;
      for (;;) {
        // One call's worth: bounded in vectors and in bytes, never an empty one.
        const vectors: Uint8Array[] = [];
        let byteCount = 0;
        let nextIndex = chunkIndex;
        let nextStart = chunkStart;
        while (nextIndex < chunks.length && vectors.length < MAX_VECTORS && byteCount < MAX_CALL_BYTES) {
          const chunk = chunks[nextIndex];
          const end = Math.min(chunk.length, nextStart + MAX_CALL_BYTES - byteCount);
          if (end > nextStart) {
            vectors.push(nextStart === 0 && end === chunk.length ? chunk : chunk.subarray(nextStart, end));
            byteCount += end - nextStart;
          }
          nextStart = end;
          if (end === chunk.length) {
            nextIndex++;
            nextStart = 0;
          }
        }
        if (byteCount === 0) return;

        const written = await writeVectors(fd, vectors, byteCount, this.#position);
        if (written <= 0) throw new InternalError(`${this.path}: the file system accepted no bytes`);
        this.#position += written;
        if (written === byteCount) {
          chunkIndex = nextIndex;
          chunkStart = nextStart;
        } else {
          let left = written;
          while (left >= chunks[chunkIndex].length - chunkStart) {
            left -= chunks[chunkIndex].length - chunkStart;
            chunkIndex++;
            chunkStart = 0;
          }
          chunkStart += left;
        }
      }
    });
  }

  sync(): Promise<void> {
    return this.use(async (fd) => {
      if (this.#durable) await syncDescriptor(fd);
    });
  }
}

function writeVectors(
  fd: number,
  vectors: Uint8Array[],
  byteCount: number,
  position: number,
): Promise<number> {
  const pooled = (done: (error: NodeJS.ErrnoException | null, written: number) => void) =>
    fs.writev(fd, vectors, position, done);
  if (byteCount > MAX_INLINE_WRITE_BYTES) return onPool(pooled);
  const route = byteCount <= MAX_INLINE_BYTES ? shortCalls : pageWrites;
  return route.run(() => fs.writevSync(fd, vectors, position), pooled);
}

/** Data and size only: what a later read needs, without a journal write for the times. */
function syncDescriptor(fd: number): Promise<void> {
  return onPool<void>((done) => fs.fdatasync(fd, (error) => done(error, undefined)));
}

function closeDescriptor(fd: number): Promise<void> {
  return shortCalls.run(
    () => fs.closeSync(fd),
    (done) => fs.close(fd, (error) => done(error, undefined)),
  );
}

async function withDescriptor(
  filePath: string,
  flags: number,
  call: (fd: number) => Promise<void>,
): Promise<void> {
  const fd = await shortCalls.run(
    () => fs.openSync(filePath, flags),
    (done) => open(filePath, flags, done),
  );
  try {
    await call(fd);
  } finally {
    await closeDescriptor(fd);
  }
}

/** @throws what the first call that fails does */
async function removeTreeInShortCalls(directory: string): Promise<void> {
  const entries = await shortCalls.run(
    () => fs.readdirSync(directory, { withFileTypes: true }),
    (done) => readdir(directory, { withFileTypes: true }, done),
  );
  for (let start = 0; start < entries.length; start += REMOVED_AT_ONCE) {
    const removals = entries.slice(start, start + REMOVED_AT_ONCE).map((entry) => {
      const entryPath = path.join(directory, entry.name);
      return entry.isDirectory() ? removeTreeInShortCalls(entryPath) : unlink(entryPath);
    });
    for (const outcome of await Promise.allSettled(removals)) {
      if (outcome.status === "rejected") throw outcome.reason;
    }
  }
  await removeDirectory(directory);
}

async function removeStubbornTree(directory: string): Promise<void> {
  try {
    await outlastShortage(() =>
      onPool<void>((done) =>
        fs.rm(
          directory,
          { recursive: true, force: true, maxRetries: WINDOWS_ATTEMPTS, retryDelay: 20 },
          (error) => done(error, undefined),
        ),
      ),
    );
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

const isLink = (filePath: string): Promise<boolean> =>
  shortCalls.run<boolean>(
    () => fs.lstatSync(filePath).isSymbolicLink(),
    (done) => fs.lstat(filePath, (error, stats) => done(error, stats?.isSymbolicLink() ?? false)),
  );

const unlink = (filePath: string): Promise<void> =>
  shortCalls.run(
    () => fs.unlinkSync(filePath),
    (done) => fs.unlink(filePath, (error) => done(error, undefined)),
  );

const removeDirectory = (directory: string): Promise<void> =>
  shortCalls.run(
    () => fs.rmdirSync(directory),
    (done) => fs.rmdir(directory, (error) => done(error, undefined)),
  );

/** What was in the way may be gone again by the time it is looked at; then another attempt is made. */
async function makeDirectories(directory: string, within: string | undefined): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryMakeDirectories(directory, within);
    } catch (error) {
      const isRace = codeOf(error) === "EEXIST" && (await statOrNull(directory)) === null;
      if (!isRace || attempt === MAX_MAKE_ATTEMPTS) throw error;
    }
  }
}

async function tryMakeDirectories(directory: string, within: string | undefined): Promise<boolean> {
  // Most are there: a look costs less than the error for making one.
  if ((await statOrNull(directory))?.isDirectory() === true) return false;
  try {
    try {
      await makeOneDirectory(directory);
    } catch (error) {
      const parent = path.dirname(directory);
      if (codeOf(error) !== "ENOENT" || parent === directory || parent === within) throw error;
      await makeDirectories(parent, within);
      await makeOneDirectory(directory);
    }
    return true;
  } catch (error) {
    // Besides EEXIST: some platforms answer EPERM, EISDIR or EROFS for a root or a mount point.
    const stats = codeOf(error) === "ENOENT" ? null : await statOrNull(directory);
    if (stats === null || !stats.isDirectory()) throw error;
    return false;
  }
}

function makeOneDirectory(directory: string): Promise<void> {
  return shortCalls.run(
    () => void fs.mkdirSync(directory),
    (done) => fs.mkdir(directory, (error) => done(error, undefined)),
  );
}

const statOrNull = (filePath: string): Promise<fs.BigIntStats | null> => statAs(filePath, (stats) => stats);

/** The commonest of all calls: nothing is awaited in it, as that would cost as much as the call. */
function statAs<T>(filePath: string, convert: (stats: fs.BigIntStats) => T): Promise<T | null> {
  return shortCalls.run<T | null>(
    () => {
      try {
        const stats = fs.statSync(filePath, { bigint: true, throwIfNoEntry: false });
        return stats === undefined ? null : convert(stats);
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    (done) =>
      fs.stat(filePath, { bigint: true }, (error, stats) => {
        if (error === null || error === undefined) done(null, convert(stats));
        else if (isMissing(error)) done(null, null);
        else done(error, null);
      }),
  );
}

/** Windows refuses to rename or remove what a scanner or indexer has open for a moment. */
async function whileHeldByOthers(call: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const code = codeOf(error);
      const held = code === "EBUSY" || code === "EPERM" || code === "EACCES";
      if (!WINDOWS || !held || attempt === WINDOWS_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10 * attempt));
    }
  }
}

function identityOf(stats: fs.BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): FileStat["kind"] {
  return entry.isFile() ? "file" : entry.isDirectory() ? "directory" : "other";
}
