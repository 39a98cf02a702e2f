/**
 * Open files of Node.js. Invariants:
 *
 * - A read returns exactly the requested bytes in an ArrayBuffer of their own, never a slice of Node's shared
 *   pool: callers keep typed arrays over it.
 * - A descriptor is closed only when no call uses it. Otherwise another file could take the number, and the
 *   call would read or write that file.
 * - Only regular files are opened, because a FIFO or a device would hold a thread for good. The opening never
 *   waits, and the open file is checked before it is read. Links are not followed.
 */

import fs, { open } from "node:fs";
import { isPending } from "../../async/pending.js";
import { CorruptFileError, InternalError } from "../../errors.js";
import { onPool, shortCalls } from "./callRoute.js";
import type { Confinement } from "./confinement.js";
import type { AllocateTail, ReadHandle, ReadPieces, WriteHandle } from "./disk.js";
import {
  closeFile,
  MAX_INLINE_BYTES,
  onEntryNow,
  onEntryOfPool,
  readDescriptor,
  syncData,
  writeVectors,
} from "./fileCalls.js";
import { LinkedFileError } from "./linkedFile.js";

/** Minimum number of bytes per part, when pool threads read the parts of a long read side by side. */
const MIN_PART_BYTES = 4 * 1024 * 1024;

/** Maximum number of parts. Two threads would fill the memory bandwidth; four also fill a device queue. */
const MAX_PARTS = 4;

/** Maximum number of bytes per call. Linux moves at most 0x7ffff000, and Node refuses above 2^31 - 1. */
const MAX_CALL_BYTES = 1 << 30;

/** Maximum number of vectors per call. POSIX guarantees 16; every platform of Node allows 1,024. */
const MAX_VECTORS = 512;

// Some platforms lack some of these constants.
const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
const READ_FLAGS = O_RDONLY | O_NONBLOCK | O_NOFOLLOW;

/**
 * Opens a regular file for reading.
 * @param tailBytes maximum number of bytes at the end of the file that this call reads as well
 * @param allocate makes the memory for them if they are the whole file. Default: memory of its own
 * @throws LinkedFileError for a link, on platforms that cannot refuse links; CorruptFileError for other kinds
 */
export function openForReading(
  confinement: Confinement,
  filePath: string,
  tailBytes: number,
  allocate?: AllocateTail,
): Promise<ReadHandle> {
  const wanted = Math.min(tailBytes, MAX_INLINE_BYTES);
  return shortCalls.runTogether(
    () => openInLine(confinement, filePath, wanted, allocate),
    () => openOnPool(confinement, filePath, wanted, allocate),
  );
}

/** Opens a file with synchronous calls, which together are still a short call. */
const openInLine = (
  confinement: Confinement,
  filePath: string,
  tailBytes: number,
  allocate?: AllocateTail,
): NodeReadHandle =>
  onEntryNow(confinement, filePath, (entry) => {
    if (O_NOFOLLOW === 0 && fs.lstatSync(entry).isSymbolicLink()) throw new LinkedFileError(filePath);
    const fd = fs.openSync(entry, READ_FLAGS);
    try {
      // A file that lies elsewhere must not be read.
      if (confinement.mayFollow) onEntryNow(confinement, filePath, () => undefined);
      const stats = fs.fstatSync(fd, { bigint: true });
      if (!stats.isFile()) throw notRegular(filePath);
      const tail = shortCalls.aside(() => tailMemory(stats, tailBytes, allocate));
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
  });

const openOnPool = (
  confinement: Confinement,
  filePath: string,
  tailBytes: number,
  allocate?: AllocateTail,
): Promise<NodeReadHandle> =>
  onEntryOfPool(confinement, filePath, async (entry) => {
    if (O_NOFOLLOW === 0) {
      const stats = await onPool<fs.Stats>((done) => fs.lstat(entry, done));
      if (stats.isSymbolicLink()) throw new LinkedFileError(filePath);
    }
    const fd = await onPool<number>((done) => open(entry, READ_FLAGS, done));
    try {
      if (confinement.mayFollow) await onEntryOfPool(confinement, filePath, async () => undefined);
      const stats = await onPool<fs.BigIntStats>((done) => fs.fstat(fd, { bigint: true }, done));
      if (!stats.isFile()) throw notRegular(filePath);
      const tail = tailMemory(stats, tailBytes, allocate);
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
      await closeFile(fd);
      throw error;
    }
  });

/** Allocates without zeroing: a read fills every byte, or the memory is dropped. */
function tailMemory(
  stats: fs.BigIntStats,
  tailBytes: number,
  allocate: AllocateTail | undefined,
): Uint8Array {
  const size = Number(stats.size);
  return allocate !== undefined && size <= tailBytes
    ? allocate(size)
    : Buffer.allocUnsafeSlow(Math.min(size, tailBytes));
}

/** An open descriptor that stays open until every call on it has ended. */
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

  /** Like `use`, for calls that may finish synchronously; a closed file makes it throw instead of reject. */
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

  /** Closes the descriptor once the current calls are done; a second call returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#callsUnderWay > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    await closeFile(this.#fd);
  }
}

class NodeReadHandle extends OpenFile implements ReadHandle {
  readonly size: number;
  readonly identity: string;
  #tail: Uint8Array | null;

  /** @param tail last bytes of the file */
  constructor(fd: number, filePath: string, stats: fs.BigIntStats, tail: Uint8Array) {
    super(fd, filePath);
    this.size = Number(stats.size);
    this.identity = fileIdentity(stats);
    this.#tail = tail.length > 0 ? tail : null;
  }

  takeTail(): Uint8Array | null {
    const tail = this.#tail;
    this.#tail = null;
    return tail && new Uint8Array(tail.buffer, 0, tail.length);
  }

  read(byteOffset: number, length: number, memory?: Uint8Array): Promise<Uint8Array> {
    return this.use(async (fd) => {
      if (!isRange(byteOffset, length)) {
        throw new CorruptFileError(this.path, 0, `the file has no ${length} bytes at ${byteOffset}`);
      }
      if (byteOffset + length > this.size) throw endsEarly(this.path, byteOffset, length, this.size);
      if (length === 0) return new Uint8Array(0);
      if (memory !== undefined && memory.length !== length) {
        throw new InternalError(`${length} bytes do not fit ${memory.length} bytes of memory`);
      }
      // Not zeroed: a read fills every byte, or the memory is dropped.
      const target = memory ?? Buffer.allocUnsafeSlow(length);
      if (length < 2 * MIN_PART_BYTES) {
        await this.#readPart(fd, target, byteOffset, 0, length);
      } else {
        const partCount = Math.min(MAX_PARTS, Math.floor(length / MIN_PART_BYTES));
        const partBytes = Math.ceil(length / partCount / 4096) * 4096;
        const parts: Promise<void>[] = [];
        for (let start = 0; start < length; start += partBytes) {
          parts.push(this.#readPart(fd, target, byteOffset, start, Math.min(length, start + partBytes)));
        }
        // After this call has failed, no part may still write into memory or use the descriptor.
        for (const outcome of await Promise.allSettled(parts)) {
          if (outcome.status === "rejected") throw outcome.reason;
        }
      }
      return new Uint8Array(target.buffer, target.byteOffset, length);
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

  /** Checks that every piece lies within the file, and its bytes within the target. */
  #checkPieces(target: Uint8Array, { byteOffsets, lengths, positions }: ReadPieces): void {
    for (let index = 0; index < byteOffsets.length; index++) {
      const byteOffset = byteOffsets[index];
      const length = lengths[index];
      if (!isRange(byteOffset, length)) {
        throw new CorruptFileError(this.path, 0, `the file has no ${length} bytes at ${byteOffset}`);
      }
      if (byteOffset + length > this.size) throw endsEarly(this.path, byteOffset, length, this.size);
      if (!isRange(positions[index], length) || positions[index] + length > target.length) {
        throw new InternalError(
          `${length} bytes at ${positions[index]} do not fit ${target.length} bytes of memory`,
        );
      }
    }
  }

  /** Fills `target[start, end)`; `byteOffset` is the file offset of `target[0]`. */
  async #readPart(
    fd: number,
    target: Uint8Array,
    byteOffset: number,
    start: number,
    end: number,
  ): Promise<void> {
    while (start < end) {
      const from = start;
      const wanted = Math.min(end - from, MAX_CALL_BYTES);
      const bytesRead = await readDescriptor(fd, target, from, wanted, byteOffset + from);
      if (bytesRead === 0) throw endsEarly(this.path, byteOffset, target.length, byteOffset + from);
      start += bytesRead;
    }
  }
}

export const notRegular = (filePath: string, cause?: unknown): CorruptFileError =>
  new CorruptFileError(filePath, 0, "it is not a regular file", cause === undefined ? undefined : { cause });

const endsEarly = (filePath: string, byteOffset: number, length: number, fileEnd: number): CorruptFileError =>
  new CorruptFileError(
    filePath,
    byteOffset,
    `the read needs ${length} bytes from here, but the file ends at ${fileEnd}`,
  );

function isRange(start: number, length: number): boolean {
  return Number.isSafeInteger(start) && Number.isSafeInteger(length) && start >= 0 && length >= 0;
}

/** Cuts pieces so that each may be read in line. */
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

export class NodeWriteHandle extends OpenFile implements WriteHandle {
  readonly takesChunksAtOnce = true;
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
        // Bounded in vectors and in bytes, and never empty.
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
      if (this.#durable) await syncData(fd, this.path);
    });
  }
}

/** Joins inode, size and times to one string; equal strings mean equal bytes. */
export function fileIdentity(stats: fs.BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}
