/** An open object. Pieces that lie near one another are read with one request, long ones with several. */

import { runParallel } from "../../async/parallel.js";
import type { ReadHandle, ReadPieces } from "../../io/disk/disk.js";
import { planReads } from "../../io/disk/ranges.js";
import type { S3Client } from "./client.js";
import { type ObjectState, readRange } from "./objectReads.js";

/** Maximum gap between two pieces that one request reads: it takes less time than a request. */
const GAP_BYTES = 256 * 1024;
/** Maximum bytes of a request. */
const REQUEST_BYTES = 8 * 1024 * 1024;
/** Requests of one call that are under way at a time. */
const PARALLELISM = 8;

export class ObjectHandle implements ReadHandle {
  readonly path: string;
  readonly size: number;
  readonly identity: string;
  readonly #client: S3Client;
  readonly #state: ObjectState;
  /** Last bytes of the object, from opening it. */
  readonly #tail: Uint8Array;
  #isTailTaken = false;

  constructor(client: S3Client, state: ObjectState, tail: Uint8Array) {
    this.path = state.path;
    this.size = state.size;
    this.identity = identityOf(state);
    this.#client = client;
    this.#state = state;
    this.#tail = tail;
  }

  takeTail(): Uint8Array | null {
    if (this.#isTailTaken || (this.#tail.length === 0 && this.size > 0)) return null;
    this.#isTailTaken = true;
    return this.#tail;
  }

  async read(byteOffset: number, length: number, memory?: Uint8Array): Promise<Uint8Array> {
    const target = memory?.subarray(0, length) ?? new Uint8Array(length);
    await this.#fill(target, byteOffset);
    return target;
  }

  async readInto(target: Uint8Array, { byteOffsets, lengths, positions }: ReadPieces): Promise<void> {
    const ranges = Array.from(lengths, (length, index) => ({ byteOffset: byteOffsets[index], length }));
    const { reads, placements } = planReads(ranges, GAP_BYTES, REQUEST_BYTES);
    const pieces = reads.map((): number[] => []);
    for (const [piece, { readIndex }] of placements.entries()) {
      if (readIndex >= 0) pieces[readIndex].push(piece);
    }
    await runParallel(reads.length, PARALLELISM, async (index) => {
      const [first, ...others] = pieces[index];
      if (others.length === 0) {
        // A piece of its own needs no copy.
        const part = target.subarray(positions[first], positions[first] + lengths[first]);
        await this.#fill(part, byteOffsets[first]);
        return;
      }
      const { byteOffset, length } = reads[index];
      const memory = new Uint8Array(length);
      await this.#fill(memory, byteOffset);
      for (const piece of pieces[index]) {
        const { start } = placements[piece];
        target.set(memory.subarray(start, start + lengths[piece]), positions[piece]);
      }
    });
  }

  /** Fills the memory with the bytes from an offset. */
  async #fill(memory: Uint8Array, byteOffset: number): Promise<void> {
    const tailStart = this.size - this.#tail.length;
    if (byteOffset >= tailStart && byteOffset + memory.length <= this.size) {
      memory.set(this.#tail.subarray(byteOffset - tailStart, byteOffset - tailStart + memory.length));
      return;
    }
    const requests = Math.max(1, Math.ceil(memory.length / REQUEST_BYTES));
    await runParallel(requests, PARALLELISM, async (index) => {
      const start = index * REQUEST_BYTES;
      const part = memory.subarray(start, start + REQUEST_BYTES);
      await readRange(this.#client, this.#state, byteOffset + start, part);
    });
  }

  async close(): Promise<void> {}
}

/** Returns a text that is equal only for equal bytes. */
export const identityOf = ({
  etag,
  size,
  modifiedNs,
}: Pick<ObjectState, "etag" | "size" | "modifiedNs">): string =>
  etag === "" ? `${size}:${modifiedNs}` : `${size}:${etag}`;
