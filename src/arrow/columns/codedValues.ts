/**
 * Values of variable width that still are what a file holds: chains of one-byte codes, each of which stands for a symbol of
 * 1 to 8 bytes (FSST).
 */

/** What codes stand for. */
export interface CodeSymbols {
  /** Codes below this have a symbol. */
  readonly count: number;
  /** First four bytes of each code's symbol, little-endian. */
  readonly low: Int32Array;
  /** Last four bytes. */
  readonly high: Int32Array;
  /** Bytes of each code's symbol; 0 for codes that are not in use, and for the escape. */
  readonly lengths: Uint8Array;
}

/** This code stands for the byte behind it. */
export const ESCAPE_CODE = 255;

export interface CodedValues {
  readonly symbols: CodeSymbols;
  /** Ascending positions of the values in `codes`, one more than there are values; they need not start at 0. */
  readonly offsets: Int32Array;
  readonly codes: Uint8Array;
  readonly decode: DecodeCodes;
}

/** Values with offsets as wide as the column's layout wants them. */
export interface DecodedValues {
  readonly offsets: Int32Array | BigInt64Array;
  readonly bytes: Uint8Array;
}

/**
 * @param offsets are overwritten
 * @param allocate makes the memory of the bytes; default: fresh memory
 * @throws CorruptFileError for codes that mean nothing
 */
export type DecodeCodes = (
  offsets: Int32Array,
  codes: Uint8Array,
  allocate?: (byteLength: number) => Uint8Array<ArrayBuffer>,
) => DecodedValues;
