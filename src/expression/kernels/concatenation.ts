/** Joins texts, or bytes, row by row. */

import { isValid } from "../../arrow/columns/validity.js";
import { Pace } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { byteLane, type ValueKernel } from "../values/operands.js";
import { copyInSteps } from "../values/work.js";

/** Bytes joined per step. */
const STEP_BYTES = 2 ** 20;
/** Maximum length of a value that is copied without steps. */
const MAX_COPIED = 2 ** 20;
/** Work of a row besides its bytes. */
const ROW_WORK = 64;

/** || of two texts, or of two values of bytes. */
export const concatenation: ValueKernel = function* run([left, right], length, valid) {
  const a = byteLane(left);
  const b = byteLane(right);
  const offsets = new Int32Array(length + 1);
  let size = 0;
  const sizeOf = (lane: typeof a, index: number) => lane.offsets[index + 1] - lane.offsets[index];
  for (let row = 0; row < length; row++) {
    if (isValid(valid, row)) size += sizeOf(a, row * left.step) + sizeOf(b, row * right.step);
    if (size > 0x7fff_ffff) throw new InvalidInputError("the texts of a batch take more than 2 GiB");
    offsets[row + 1] = size;
  }
  const bytes = new Uint8Array(size);
  const pace = new Pace(STEP_BYTES);
  for (let row = 0; row < length; row++) {
    if (offsets[row] === offsets[row + 1]) continue;
    const aIndex = row * left.step;
    const bIndex = row * right.step;
    const middle = offsets[row] + sizeOf(a, aIndex);
    if (offsets[row + 1] - offsets[row] > MAX_COPIED) {
      yield* copyInSteps(a.bytes, a.offsets[aIndex], a.offsets[aIndex + 1], bytes, offsets[row]);
      yield* copyInSteps(b.bytes, b.offsets[bIndex], b.offsets[bIndex + 1], bytes, middle);
      continue;
    }
    bytes.set(a.bytes.subarray(a.offsets[aIndex], a.offsets[aIndex + 1]), offsets[row]);
    bytes.set(b.bytes.subarray(b.offsets[bIndex], b.offsets[bIndex + 1]), middle);
    if (pace.isStep(ROW_WORK + offsets[row + 1] - offsets[row])) yield;
  }
  return { kind: "variable", length, validity: valid, offsets, bytes };
};
