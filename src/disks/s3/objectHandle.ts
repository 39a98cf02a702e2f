/**
 * An open object. Short pieces are read in blocks that the objects of a disk share, near ones with one
 * request; long pieces with several requests at a time, into the caller's memory.
 */

import { runParallel } from "../../async/parallel.js";
import { UnsupportedError } from "../../errors.js";
import type { ReadHandle, ReadPieces } from "../../io/disk/disk.js";
import type { BlockCache } from "../http/blockCache.js";
import { HttpFile, keyOf } from "../http/httpFile.js";
import type { ObjectState } from "./objectReads.js";

/** Bytes from which a piece is read by itself. */
const LONG_BYTES = 1024 * 1024;
/** Maximum bytes of a tail that a handle keeps for its reads. */
const SHORT_TAIL_BYTES = 16 * 1024;
/** Maximum bytes of a request. */
const REQUEST_BYTES = 8 * 1024 * 1024;
/** Requests of one call that are under way at a time. */
const PARALLELISM = 8;

/** Reads a range of an object, in the state in which it was opened, into memory of that length. */
export type RangeReader = (state: ObjectState, byteOffset: number, memory: Uint8Array) => Promise<void>;

export class ObjectHandle implements ReadHandle {
  readonly path: string;
  readonly size: number;
  readonly identity: string;
  readonly #readRange: RangeReader;
  readonly #state: ObjectState;
  readonly #blocks: HttpFile;
  /** Last bytes of the object, until somebody takes them. */
  #tail: Uint8Array | null;

  /** @param tail last bytes from opening the object; the handle gives them away */
  constructor(readRange: RangeReader, blocks: BlockCache, state: ObjectState, tail: Uint8Array | null) {
    this.path = state.path;
    this.size = state.size;
    this.identity = identityOf(state);
    this.#readRange = readRange;
    this.#state = state;
    this.#tail = tail;
    // Longer tails are in the shared blocks.
    const isShort = tail !== null && tail.length <= SHORT_TAIL_BYTES;
    const pieces = isShort ? [{ start: state.size - tail.length, bytes: tail.slice() }] : [];
    this.#blocks = new HttpFile(knownFileOf(state), pieces, {
      blocks,
      onChange: () => undefined,
      requests: {
        range: async (_key, range) => {
          const [start, end] =
            "last" in range ? [state.size - range.last, state.size] : [range.start, range.end];
          const bytes = new Uint8Array(end - start);
          await readRange(state, start, bytes);
          return { start, bytes, size: state.size, validator: null };
        },
      },
    });
  }

  takeTail(): Uint8Array | null {
    const tail = this.#tail;
    this.#tail = null;
    return tail;
  }

  async read(byteOffset: number, length: number, memory?: Uint8Array): Promise<Uint8Array> {
    const target = memory?.subarray(0, length) ?? new Uint8Array(length);
    if (length < LONG_BYTES) return this.#blocks.read(byteOffset, length, target);
    await this.#readLong(target, byteOffset);
    return target;
  }

  readInto(target: Uint8Array, pieces: ReadPieces): Promise<void> | undefined {
    const { byteOffsets, lengths, positions } = pieces;
    const long = [...lengths.keys()].filter((index) => lengths[index] >= LONG_BYTES);
    if (long.length === 0) return this.#blocks.readInto(target, pieces);
    const short = [...lengths.keys()].filter((index) => lengths[index] < LONG_BYTES);
    const ofShort = (values: Float64Array) => Float64Array.from(short, (index) => values[index]);
    const reading = this.#blocks.readInto(target, {
      byteOffsets: ofShort(byteOffsets),
      lengths: ofShort(lengths),
      positions: ofShort(positions),
    });
    return Promise.all([
      reading,
      ...long.map((index) => {
        const part = target.subarray(positions[index], positions[index] + lengths[index]);
        return this.#readLong(part, byteOffsets[index]);
      }),
    ]).then(() => undefined);
  }

  /** Fills the memory with the bytes from an offset. */
  async #readLong(memory: Uint8Array, byteOffset: number): Promise<void> {
    const requests = Math.ceil(memory.length / REQUEST_BYTES);
    await runParallel(requests, PARALLELISM, async (index) => {
      const start = index * REQUEST_BYTES;
      const part = memory.subarray(start, start + REQUEST_BYTES);
      await this.#readRange(this.#state, byteOffset + start, part);
    });
  }

  async close(): Promise<void> {}
}

/** Returns the object as the block cache knows it. */
export const knownFileOf = (state: ObjectState) => ({
  path: state.path,
  hostPath: state.key,
  size: state.size,
  validator: null,
  identity: identityOf(state),
});

/** Keeps the last bytes of an object for reads by its handles. */
export const keepTail = (blocks: BlockCache, state: ObjectState, tail: Uint8Array): void =>
  blocks.keep(keyOf(knownFileOf(state)), state.size - tail.length, tail, state.size);

/** Returns a text that is equal only for equal bytes. */
export const identityOf = ({
  etag,
  size,
  modifiedNs,
}: Pick<ObjectState, "etag" | "size" | "modifiedNs">): string =>
  etag === "" ? `${size}${WITHOUT_ETAG}${modifiedNs}` : `${size}:${etag}`;

/** Separates size and time in the identity of an object without an ETag. */
const WITHOUT_ETAG = "@";

/**
 * Returns the ETag in an identity.
 * @throws UnsupportedError if the server sends none
 */
export function etagOfIdentity(identity: string): string {
  const separator = identity.indexOf(":");
  if (separator >= 0) return identity.slice(separator + 1);
  throw new UnsupportedError("the S3 server sends no ETags, which replacing objects safely needs");
}
