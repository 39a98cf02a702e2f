/** What PQ encodes by. */

import type { TensorNumbers } from "./tensors.js";

/** The codewords of PQ. */
export interface Codebook {
  readonly bits: 4 | 8;
  /** Number of the parts of a vector. */
  readonly parts: number;
  readonly dimension: number;
  /** Part by part its codewords, one behind the other. */
  readonly words: TensorNumbers;
  readonly isTransposed: boolean;
}
