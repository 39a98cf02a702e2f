/** Interface that decodes values of a fixed width under any encoding; fixed.ts makes it. */

/** Place of an encoding: over value buffers of a chunk, or over one whole buffer (levels, dictionaries). */
export type EncodingContext = "chunk" | "block";

/** Values within a buffer that holds nothing else. */
export interface ValuesInPlace {
  /** Offset of the first value in the buffer. */
  readonly offset: number;
  /**
   * Inspects the buffer between two positions.
   * @returns the bits of each packed value, or PLAIN_CHUNK if the values lie back to back
   * @throws CorruptFileError if the buffer is too short for its values
   */
  packedBits(bytes: Uint8Array, start: number, end: number, count: number): number;
}

export interface FixedDecoder {
  /** Bits of a decoded value: 1 or a multiple of 8. */
  readonly bitsPerValue: number;
  /** Buffers of a chunk that `decode` reads. */
  readonly bufferCount: number;
  /** Absent if the buffer does not hold the values themselves. */
  readonly inPlace?: ValuesInPlace;
  /**
   * Decodes `count` values from `buffers[first …]` and writes them from value number `outputIndex` on. From
   * there, `output` is zero and has room for them. Bytes after them may be written too, so chunks are decoded
   * in order.
   * @throws CorruptFileError if the buffers do not hold these values
   */
  decode(
    buffers: readonly Uint8Array[],
    first: number,
    count: number,
    output: Uint8Array,
    outputIndex: number,
  ): void;
}
