/** Compares texts with a constant, without decoding coded texts. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { compareRanges } from "../../bytes/compare.js";
import { byteLane, type Operand } from "../values/operands.js";
import { STEP_BYTES } from "../values/work.js";
import type { NumberRelation } from "./compareNumber.js";
import { relationAutomaton } from "./textAutomaton.js";
import { TextQuestion } from "./textQuestion.js";

/** The questions of a comparison, which may run with several constants. */
export class TextQuestions {
  #constant: Column | null = null;
  #question: TextQuestion | null = null;
  #isTurned = false;

  /** Returns a bit for each row; null if the operands are not texts and a constant, and for few rows. */
  *ask(
    relation: NumberRelation,
    left: Operand,
    right: Operand,
    length: number,
    valid: Validity | null,
  ): Steps<Uint8Array | null> {
    if (left.step === right.step) return null;
    const [texts, constant] = right.step === 0 ? [left.column, right.column] : [right.column, left.column];
    if (texts.kind !== "variable" || constant.kind !== "variable") return null;
    if (this.#question === null || this.#constant !== constant) {
      this.#constant = constant;
      // `constant < text` is the opposite of `text <= constant`.
      this.#isTurned = right.step !== 0 && relation !== "equal";
      const turned = !this.#isTurned ? relation : relation === "less" ? "atMost" : "less";
      this.#question = questionOf(turned, constant);
    }
    const bits = yield* this.#question.ask(texts, length, valid);
    if (bits === null || !this.#isTurned) return bits;
    for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
    return bits;
  }
}

/** Asks for the relation of texts to a constant. @param constant a column of one value */
function questionOf(relation: NumberRelation, constant: Column): TextQuestion {
  const lane = byteLane({ column: constant, step: 0 });
  const needle = lane.bytes.slice(lane.offsets[0], lane.offsets[1]);
  return new TextQuestion(relationAutomaton(relation, needle), {
    fits: (bytes, start, end) =>
      Math.min(end - start, needle.length) > STEP_BYTES
        ? null
        : fits(relation, compareRanges(bytes, start, end, needle, 0, needle.length)),
    *inSteps(bytes, start, end) {
      return fits(relation, yield* compareRangesInSteps(bytes, start, end, needle, 0, needle.length));
    },
  });
}

/** True if two values in this order have the relation. */
export const fits = (relation: NumberRelation, order: number): boolean =>
  relation === "equal" ? order === 0 : relation === "less" ? order < 0 : order <= 0;

/** Compares ranges of any number of bytes like {@link compareRanges}. */
export function* compareRangesInSteps(
  a: Uint8Array,
  startA: number,
  endA: number,
  b: Uint8Array,
  startB: number,
  endB: number,
): Steps<number> {
  let offsetA = startA;
  let offsetB = startB;
  while (Math.min(endA - offsetA, endB - offsetB) > STEP_BYTES) {
    const order = compareRanges(a, offsetA, offsetA + STEP_BYTES, b, offsetB, offsetB + STEP_BYTES);
    if (order !== 0) return order;
    offsetA += STEP_BYTES;
    offsetB += STEP_BYTES;
    yield;
  }
  return compareRanges(a, offsetA, endA, b, offsetB, endB);
}
