import type { TensorNumbers } from "./tensors.js";

/** Codewords of PQ. */
export interface Codebook {
  readonly bits: 4 | 8;
  /** Number of subvectors. */
  readonly parts: number;
  readonly dimension: number;
  /** Codewords of the first subvector, row-major, then of the second, and so on. */
  readonly words: TensorNumbers;
  readonly isTransposed: boolean;
  /** True if the settings contain it, as LanceDB 0.18 and 0.19 expect; else a global buffer does. */
  readonly isInSettings: boolean;
}
