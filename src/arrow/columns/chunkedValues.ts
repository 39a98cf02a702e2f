/** Values of a fixed width that still are what the chunks of a page hold, packed or plain. */

/** In place of a number of bits, of chunks whose values lie back to back. */
export const PLAIN_CHUNK = 255;
/** All chunks but the last have a multiple of so many values, or a column has none. */
export const CHUNK_GRAIN = 32;

export interface ChunkedValues {
  /** Where the chunks lie. */
  readonly bytes: Uint8Array;
  /** Where the values of each chunk begin in the bytes, ascending. */
  readonly starts: Float64Array;
  readonly counts: Float64Array;
  /**
   * Bits of each value, in 128 bytes for each bit: a unit of FastLanes order, of which the chunk has the first values. Or
   * {@link PLAIN_CHUNK}.
   */
  readonly packedBits: Uint8Array;
  /** Makes the values. */
  decode(): Uint8Array;
  /** Makes those of a few rows; null where they are better taken from all: where they are many, or in no order. */
  pick(rows: Uint32Array): Uint8Array | null;
}
