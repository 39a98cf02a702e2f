/**
 * Sign bits of a partition as LanceDB packs them for its kernels. Rows are in blocks of 32. For each byte of
 * a code, a block has 32 bytes: the low halves of all rows, then the high halves. A byte has those of two
 * rows, r in its low half and r + 16 in its high half; the order of r is {@link ORDER}. Rows after the last
 * whole block are transposed: the first bytes of all of them, then the second bytes, and so on.
 */

import { Pace, type Steps } from "../../../async/eventLoop.js";

/** Rows of a block. */
export const BLOCK_ROWS = 32;
const HALF = 16;
/** Bytes per step. */
const STEP_BYTES = 2 ** 20;
const ORDER = [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15];

/** Unpacks the codes of a partition, row by row. */
export function* unpackSigns(packed: Uint8Array, codeBytes: number): Steps<Uint8Array> {
  const rowCount = packed.length / codeBytes;
  const codes = new Uint8Array(packed.length);
  const whole = rowCount - (rowCount % BLOCK_ROWS);
  const pace = new Pace(STEP_BYTES);
  for (let row = 0, offset = 0; row < whole; row += BLOCK_ROWS) {
    if (pace.isStep(BLOCK_ROWS * codeBytes)) yield;
    for (let byte = 0; byte < codeBytes; byte++, offset += BLOCK_ROWS) {
      for (let slot = 0; slot < HALF; slot++) {
        const [low, high] = [packed[offset + slot], packed[offset + HALF + slot]];
        const first = (row + ORDER[slot]) * codeBytes + byte;
        codes[first] = (low & 15) | ((high & 15) << 4);
        codes[first + HALF * codeBytes] = (low >>> 4) | (high & 0xf0);
      }
    }
  }
  const rest = rowCount - whole;
  for (let byte = 0, offset = whole * codeBytes; byte < codeBytes; byte++) {
    for (let row = 0; row < rest; row++) codes[(whole + row) * codeBytes + byte] = packed[offset++];
  }
  return codes;
}
