/** Content of a file in memory: blocks of bytes, which grow at the end. */

import { upperBound } from "../bytes/search.js";
import { CorruptFileError } from "../errors.js";

/** Maximum bytes of a block that is allocated ahead of its content. */
const MAX_AHEAD_BYTES = 4 * 1024 * 1024;

export class FileContent {
  readonly #blocks: Uint8Array[] = [];
  /** Offset of each block's first byte. */
  #starts = new Float64Array(4);
  #byteLength = 0;
  /** Free bytes at the end of the last block. */
  #spare = 0;

  get byteLength(): number {
    return this.#byteLength;
  }

  /** Copies the bytes to the end. */
  append(bytes: Uint8Array): void {
    const fitting = Math.min(this.#spare, bytes.length);
    if (fitting > 0) {
      const last = this.#blocks[this.#blocks.length - 1];
      last.set(bytes.subarray(0, fitting), last.length - this.#spare);
      this.#spare -= fitting;
      this.#byteLength += fitting;
    }
    const rest = bytes.subarray(fitting);
    if (rest.length === 0) return;
    const capacity = Math.max(rest.length, Math.min(this.#byteLength, MAX_AHEAD_BYTES));
    const block = new Uint8Array(capacity);
    block.set(rest);
    this.#addBlock(block);
    this.#byteLength += rest.length;
    this.#spare = capacity - rest.length;
  }

  #addBlock(block: Uint8Array): void {
    const count = this.#blocks.push(block);
    if (count > this.#starts.length) {
      const larger = new Float64Array(2 * count);
      larger.set(this.#starts);
      this.#starts = larger;
    }
    this.#starts[count - 1] = this.#byteLength;
  }

  /** Frees the memory that was allocated ahead. */
  trim(): void {
    if (this.#spare === 0) return;
    const last = this.#blocks[this.#blocks.length - 1];
    this.#blocks[this.#blocks.length - 1] = last.slice(0, last.length - this.#spare);
    this.#spare = 0;
  }

  /** Replaces all bytes by as many others. */
  overwrite(bytes: Uint8Array): void {
    for (const [index, block] of this.#blocks.entries()) {
      const start = this.#starts[index];
      block.set(bytes.subarray(start, Math.min(bytes.length, start + block.length)));
    }
  }

  /**
   * Copies a range into `target`.
   * @param path of the file, for errors
   * @throws CorruptFileError if the file ends before
   */
  copyTo(target: Uint8Array, byteOffset: number, path: string): void {
    if (byteOffset + target.length > this.#byteLength) {
      const reason = `the read needs ${target.length} bytes from here, but the file ends at ${this.#byteLength}`;
      throw new CorruptFileError(path, byteOffset, reason);
    }
    const starts = this.#starts.subarray(0, this.#blocks.length);
    let index = upperBound(starts, byteOffset) - 1;
    for (let done = 0; done < target.length; index++) {
      const from = byteOffset + done - starts[index];
      const piece = this.#blocks[index].subarray(from, from + target.length - done);
      target.set(piece, done);
      done += piece.length;
    }
  }
}
