/**
 * The interface that decodes values of a fixed width under any encoding; fixed.ts makes it.
 */

/**
 * Where an encoding stands: over the value buffers of a mini-block chunk, or over one self-contained buffer
 * (levels, dictionaries).
 */
export type EncodingContext = "chunk" | "block";

/** How values lie in a buffer that holds nothing else. */
export interface ValuesInPlace {
  /** Where in the buffer they begin. */
  readonly offset: number;
  /**
   * Looks at the buffer between two positions.
   * @returns the bits of each of its packed values, or PLAIN_CHUNK where they lie back to back
   * @throws CorruptFileError where it does not hold so many values
   */
  packedBits(bytes: Uint8Array, start: number, end: number, count: number): number;
}

export interface FixedDecoder {
  /** Bits of a decoded value: 1 or a multiple of 8. */
  readonly bitsPerValue: number;
  /** Buffers of a chunk that `decode` reads. */
  readonly bufferCount: number;
  /** Absent where the values are not to be found in the buffer as they are. */
  readonly inPlace?: ValuesInPlace;
  /**
   * Decodes `count` values from `buffers[first …]` and writes them from value number `outputIndex` on.
   * `output` is zero from there on and has room for them. Bytes behind them may be written too, so chunks are
   * decoded in order.
   * @throws CorruptFileError where the buffers do not hold these values.
   */
  decode(
    buffers: readonly Uint8Array[],
    first: number,
    count: number,
    output: Uint8Array,
    outputIndex: number,
  ): void;
}
