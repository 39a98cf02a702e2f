/**
 * Values of variable width that still are what the chunks of a page hold: texts or binaries, or codes of these. Questions
 * are asked of them there; whoever wants the values one behind the other has them gathered.
 */

import type { CodedValues, CodeSymbols, DecodedValues } from "./codedValues.js";

export interface ChunkedTexts {
  /**
   * For each chunk its bytes, at a multiple of 4: positions of 32 bits from the chunk's start, one more than it has
   * values, and the values. That the positions ascend inside the chunk is not checked yet.
   */
  readonly chunks: readonly Uint8Array[];
  /** Values of each chunk. */
  readonly counts: readonly number[];
  /** Set where the values are codes. */
  readonly symbols: CodeSymbols | null;
  /**
   * The values one behind the other; codes stay codes.
   * @throws CorruptFileError where positions do not ascend inside their chunk
   */
  gather(): DecodedValues & { readonly coded?: CodedValues };
  /**
   * The values of a few rows, decoded; null where they are better taken from all: where they are many, or in no order.
   * @throws CorruptFileError as `gather`, for positions of these values
   */
  pick(rows: Uint32Array): DecodedValues | null;
}
