/** Compares texts with a constant, without decoding them where they are codes still. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { compareRanges } from "../../bytes/compare.js";
import { byteLane, type Operand } from "../values/operands.js";
import type { NumberRelation } from "./compareNumber.js";
import { relationAutomaton } from "./textAutomaton.js";
import { TextQuestion } from "./textQuestion.js";

/** The questions of a comparison: it may be run with several constants, one after the other. */
export class TextQuestions {
  #constant: Column | null = null;
  #question: TextQuestion | null = null;
  #isTurned = false;

  /** A bit for each row; null for what are not texts beside a constant, and for few. */
  ask(
    relation: NumberRelation,
    left: Operand,
    right: Operand,
    length: number,
    valid: Validity | null,
  ): Uint8Array | null {
    if (left.step === right.step) return null;
    const [texts, constant] = right.step === 0 ? [left.column, right.column] : [right.column, left.column];
    if (texts.kind !== "variable" || constant.kind !== "variable") return null;
    if (this.#question === null || this.#constant !== constant) {
      this.#constant = constant;
      // A text is less than others that are not at most that text.
      this.#isTurned = right.step !== 0 && relation !== "equal";
      const own = !this.#isTurned ? relation : relation === "less" ? "atMost" : "less";
      this.#question = questionOf(own, constant);
    }
    const bits = this.#question.ask(texts, length, valid);
    if (bits === null || !this.#isTurned) return bits;
    for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
    return bits;
  }
}

/** Whether texts stand so to a constant. @param constant of one value */
function questionOf(relation: NumberRelation, constant: Column): TextQuestion {
  const lane = byteLane({ column: constant, step: 0 });
  const wanted = lane.bytes.slice(lane.offsets[0], lane.offsets[1]);
  return new TextQuestion(relationAutomaton(relation, wanted), (bytes, start, end) => {
    const order = compareRanges(bytes, start, end, wanted, 0, wanted.length);
    return relation === "equal" ? order === 0 : relation === "less" ? order < 0 : order <= 0;
  });
}
