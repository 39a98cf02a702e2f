import type { Rotation } from "./rotation.js";

/** Rotation and width of codes of rotated vectors. */
export interface RotatedModel {
  readonly rotation: Rotation;
  /** Bits per value, 1 to 9. */
  readonly bits: number;
  /** True if the file has sign bits in blocks. */
  readonly isPacked: boolean;
}
