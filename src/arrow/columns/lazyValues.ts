/** Forms of values that are made when somebody first reads them. */

/** Values of a fixed width that are not made yet. */
export type LazyFixedValues = ChunkedValues | ComputedBytes;

/** Values of variable width that are not decoded yet. */
export type LazyTexts = CodedValues | ChunkedTexts;

interface LazyBytes {
  /** Makes all values. */
  decode(): Uint8Array;
  /** Makes the values of a few sorted rows; null if making all values would be faster. */
  pick(rows: Uint32Array): Uint8Array | null;
}

/** Values that a function computes, such as row addresses. */
export interface ComputedBytes extends LazyBytes {
  readonly kind: "computed";
}

/** Entry of {@link ChunkedValues.packedBits} for a chunk whose values lie back to back. */
export const PLAIN_CHUNK = 255;
/** Every chunk but the last has a multiple of this many values; otherwise a column has no chunks. */
export const CHUNK_GRAIN = 32;

/** Values that lie in the chunks of a page, packed or plain. Comparisons read them there. */
export interface ChunkedValues extends LazyBytes {
  readonly kind: "chunks";
  /** Memory of all chunks. */
  readonly bytes: Uint8Array;
  /** Byte offset of each chunk's values in `bytes`, ascending. */
  readonly starts: Float64Array;
  readonly counts: Float64Array;
  /** Bits of a value in a prefix of a FastLanes unit, which has 128 bytes per bit. Or {@link PLAIN_CHUNK}. */
  readonly packedBits: Uint8Array;
}

/** Symbols of FSST codes: each code stands for 1 to 8 bytes. */
export interface CodeSymbols {
  /** Codes below this have a symbol. */
  readonly count: number;
  /** First four bytes of each code's symbol, little-endian. */
  readonly low: Int32Array;
  /** Last four bytes. */
  readonly high: Int32Array;
  /** Bytes of each code's symbol; 0 for unused codes and for the escape. */
  readonly lengths: Uint8Array;
}

/** Code that stands for the byte that follows it. */
export const ESCAPE_CODE = 255;

/** Values as FSST codes. The first read of the bytes decodes only the rows that the column still has. */
export interface CodedValues {
  readonly kind: "codes";
  readonly symbols: CodeSymbols;
  /** Ascending offsets into `codes`, one more than there are values; the first may be positive. */
  readonly offsets: Int32Array;
  readonly codes: Uint8Array;
  readonly decode: DecodeCodes;
}

/** Values with offsets of the width that the column's layout has. */
export interface DecodedValues {
  readonly offsets: Int32Array | BigInt64Array;
  readonly bytes: Uint8Array;
}

/**
 * @param offsets are overwritten
 * @throws CorruptFileError for codes without a meaning
 */
export type DecodeCodes = (offsets: Int32Array, codes: Uint8Array) => DecodedValues;

/** Texts, binaries or their codes, in the chunks of a page. Filters read them there. */
export interface ChunkedTexts {
  readonly kind: "chunks";
  /**
   * Bytes of each chunk, at a multiple of 4: 32-bit offsets from the chunk's start, one more than it has
   * values, and the values. Nobody has checked yet that the offsets ascend inside the chunk.
   */
  readonly chunks: readonly Uint8Array[];
  /** Number of values in each chunk. */
  readonly counts: readonly number[];
  /** Set if the values are codes. */
  readonly symbols: CodeSymbols | null;
  /**
   * Returns the values back to back; codes stay codes. Each call returns the same column.
   * @throws CorruptFileError if offsets do not ascend inside their chunk
   */
  gather(): DecodedValues & { readonly lazy?: LazyTexts };
  /**
   * Returns the decoded values of a few sorted rows; null if decoding all values would be faster.
   * @throws CorruptFileError if the offsets of these values do not ascend inside their chunk
   */
  pick(rows: Uint32Array): DecodedValues | null;
}
