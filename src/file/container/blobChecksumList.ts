/** Computes the checksums of blob values, whose bytes blobChecksums.ts describes. */

import { crc32 } from "../../bytes/crc32.js";
import { enlarged } from "../../bytes/growing.js";
import {
  BLOB_FORMAT,
  BLOB_FORMAT_WITH_SIDE_FILES,
  BLOB_HEADER_BYTES,
  BLOB_MAGIC,
  BLOB_SIDE_FILE_BYTES,
  BLOB_VALUE_BYTES,
} from "./blobChecksums.js";

const INITIAL_CAPACITY = 64;

/** Collects the checksums of the blobs of a file and its side files while they are written. */
export class BlobChecksumList {
  #count = 0;
  #sideFiles = new Uint32Array(INITIAL_CAPACITY);
  #positions = new Float64Array(INITIAL_CAPACITY);
  #checksums = new Uint32Array(INITIAL_CAPACITY);

  get count(): number {
    return this.#count;
  }

  /**
   * @param sideFile number of the side file that holds the value; 0 for the data file
   * @param position greater than that of the previous value in the same file
   */
  add(sideFile: number, position: number, value: Uint8Array): void {
    if (this.#count === this.#positions.length) {
      this.#sideFiles = enlarged(this.#sideFiles);
      this.#positions = enlarged(this.#positions);
      this.#checksums = enlarged(this.#checksums);
    }
    this.#sideFiles[this.#count] = sideFile;
    this.#positions[this.#count] = position;
    this.#checksums[this.#count++] = crc32(value);
  }

  encode(): Uint8Array {
    const count = this.#count;
    const files = this.#sideFiles;
    const order = Uint32Array.from({ length: count }, (_, index) => index);
    const withSideFiles = files.subarray(0, count).some((file) => file > 0);
    // Within a file, values stay in the order in which they were added.
    if (withSideFiles) order.sort((a, b) => files[a] - files[b] || a - b);
    const valueBytes = BLOB_VALUE_BYTES + (withSideFiles ? BLOB_SIDE_FILE_BYTES : 0);
    const out = new Uint8Array(BLOB_HEADER_BYTES + valueBytes * count + 4);
    const view = new DataView(out.buffer);
    out.set(BLOB_MAGIC);
    view.setUint32(8, withSideFiles ? BLOB_FORMAT_WITH_SIDE_FILES : BLOB_FORMAT, true);
    view.setUint32(12, count, true);
    let offset = BLOB_HEADER_BYTES;
    const put = (value: number) => {
      view.setUint32(offset, value, true);
      offset += 4;
    };
    if (withSideFiles) for (const index of order) put(files[index]);
    for (const index of order) {
      put(this.#positions[index] % 2 ** 32);
      put(Math.floor(this.#positions[index] / 2 ** 32));
    }
    for (const index of order) put(this.#checksums[index]);
    put(crc32(out.subarray(0, offset)));
    return out;
  }
}
