/** How far two texts are apart. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { numberRows } from "../kernels/textRows.js";
import { countCharactersInSteps, pointsInSteps } from "../values/characters.js";
import { INT32 } from "../values/types.js";
import type { Functions } from "./form.js";
import { ofTexts } from "./textForm.js";

/** Maximum product of the lengths of two texts whose distance is computed: the time that it takes. */
const MAX_STEPS = 2 ** 24;
/** Pairs of characters that are compared from one step to the next. */
const STEP_PAIRS = 2 ** 16;

/** Number of characters to insert, remove or replace until one text is the other. */
function* distance(a: Uint32Array, b: Uint32Array): Steps<number> {
  const pace = new Pace(STEP_PAIRS);
  /** Distances from what was seen of the one to the beginnings of the other. */
  const row = Uint32Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i++) {
    if (pace.isStep(1)) yield;
    let diagonal = row[0];
    row[0] = i + 1;
    for (let j = 0; j < b.length; j++) {
      const above = row[j + 1];
      row[j + 1] = Math.min(above + 1, row[j] + 1, diagonal + (a[i] === b[j] ? 0 : 1));
      diagonal = above;
      if (pace.isStep()) yield;
    }
  }
  return row[b.length];
}

const levenshtein = ofTexts("tt", 2, INT32, (operands, length, valid) => {
  const [one, other] = [operands.text(0), operands.text(1)];
  return numberRows(operands.lanes, length, valid, function* compute(row) {
    const first = yield* countCharactersInSteps(one.bytes, one.start(row), one.end(row));
    const second = yield* countCharactersInSteps(other.bytes, other.start(row), other.end(row));
    if (first * second > MAX_STEPS) {
      throw new InvalidInputError(`levenshtein: texts of ${first} and ${second} characters are too long`);
    }
    if (first === 0 || second === 0) return first + second;
    const a = yield* pointsInSteps(one.bytes, one.start(row), one.end(row));
    const b = yield* pointsInSteps(other.bytes, other.start(row), other.end(row));
    return yield* distance(a, b);
  });
});

export const COMPARED_TEXT_FUNCTIONS: Functions = { levenshtein };
