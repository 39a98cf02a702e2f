/** Decoded vectors of one partition in row order, from which its graph is built. */

import { alignedBytes } from "../../../bytes/aligned.js";
import { decodeHalfFloat } from "../../../bytes/halfFloat.js";
import { InternalError } from "../../../errors.js";
import type { Codebook } from "../codes/codebook.js";
import type { Encoder } from "../codes/encoder.js";
import type { IndexedVectors } from "../codes/indexedVectors.js";
import { centroidMetric } from "../distance/metric.js";
import {
  openSpace,
  type SpaceMemory,
  type SpaceValues,
  spaceMemory,
  type VectorSpace,
} from "../distance/vectorSpace.js";

export class PartitionVectors {
  readonly #encoder: Encoder;
  readonly #indexed: IndexedVectors;
  readonly rowCount: number;
  readonly memory: SpaceMemory;
  readonly #space: VectorSpace;
  /** Factor from distances in the space to distances of the index. */
  readonly unit: number;
  #rows = 0;

  /** @param lanes, @param moreBytes see {@link spaceMemory} */
  constructor(encoder: Encoder, indexed: IndexedVectors, rowCount: number, lanes: number, moreBytes: number) {
    this.#encoder = encoder;
    this.#indexed = indexed;
    this.rowCount = rowCount;
    const { dimension, metric } = indexed;
    const { model } = encoder;
    const by = centroidMetric(metric);
    const areSteps = model.kind === "SQ" && by === "l2";
    const step = model.kind === "SQ" ? (model.end - model.start) / 255 : 1;
    // Squared distances of unit vectors are twice their cosine distances; only uncompressed vectors store the
    // latter.
    this.unit = areSteps ? step * step : metric === "cosine" && model.kind === "FLAT" ? 0.5 : 1;
    const item = areSteps ? "uint8" : "float32";
    this.memory = spaceMemory({ item, metric: by, dimension, rowCount }, lanes, moreBytes);
    this.#space = openSpace(this.memory);
  }

  get isFull(): boolean {
    return this.#rows === this.rowCount;
  }

  /** @param codes of the next rows */
  add(codes: Uint8Array): void {
    this.#space.put(this.#rows, this.#valuesOf(codes));
    this.#rows += codes.length / this.#encoder.codeBytes;
  }

  #valuesOf(codes: Uint8Array): SpaceValues {
    const { model } = this.#encoder;
    switch (model.kind) {
      case "FLAT":
        return this.#floatsOf(codes);
      case "SQ": {
        if (this.#indexed.metric !== "dot") return codes;
        const step = (model.end - model.start) / 255;
        return Float32Array.from(codes, (code) => model.start + code * step);
      }
      case "PQ":
        return decodeWords(model, codes);
      case "RQ":
        throw new InternalError("rotated codes have no graphs");
    }
  }

  #floatsOf(codes: Uint8Array): Float32Array {
    const { buffer, byteOffset, byteLength } = alignedBytes(codes, 8);
    switch (this.#indexed.item) {
      case "float16":
        return Float32Array.from(new Uint16Array(buffer, byteOffset, byteLength / 2), decodeHalfFloat);
      case "float64":
        return Float32Array.from(new Float64Array(buffer, byteOffset, byteLength / 8));
      default:
        return new Float32Array(buffer, byteOffset, byteLength / 4);
    }
  }
}

/** Decodes PQ codes, row by row. */
function decodeWords({ bits, parts, dimension, words }: Codebook, codes: Uint8Array): Float32Array {
  const width = dimension / parts;
  const codeBytes = (parts * bits) / 8;
  const rowCount = codes.length / codeBytes;
  const values = new Float32Array(rowCount * dimension);
  for (let row = 0, to = 0; row < rowCount; row++) {
    for (let part = 0; part < parts; part++) {
      const code =
        bits === 8
          ? codes[row * codeBytes + part]
          : (codes[row * codeBytes + (part >>> 1)] >>> (4 * (part & 1))) & 15;
      const from = (part * 2 ** bits + code) * width;
      for (let index = 0; index < width; index++) values[to++] = words[from + index];
    }
  }
  return values;
}
