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
  /** Whether it lies in the settings, where LanceDB 0.18 and 0.19 look for it; else in a global buffer. */
  readonly isInSettings: boolean;
}
