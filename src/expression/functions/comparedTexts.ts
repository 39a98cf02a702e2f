/** The edit distance of two texts. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { concatWords } from "../../bytes/concatWords.js";
import { InvalidInputError } from "../../errors.js";
import { numberRows, type TextLane } from "../kernels/textRows.js";
import { countCharactersInSteps, endOfCharacter, pointsOf } from "../values/characters.js";
import { INT32 } from "../values/types.js";
import { STEP_BYTES } from "../values/work.js";
import type { Functions } from "./form.js";
import { ofTexts } from "./textForm.js";

/** Maximum product of the lengths of two texts, to which the time is proportional. */
const MAX_STEPS = 2 ** 24;
const STEP_PAIRS = 2 ** 16;

/** Distances from the empty text to the beginnings of another text. */
const firstDistances = (text: Uint32Array): Uint32Array =>
  Uint32Array.from({ length: text.length + 1 }, (_, index) => index);

/**
 * Updates the distances for one more character.
 * @param distances from the characters before `point` to the beginnings of `text`; changed
 */
function addCharacter(distances: Uint32Array, point: number, text: Uint32Array): void {
  let diagonal = distances[0];
  distances[0] = diagonal + 1;
  for (let index = 0; index < text.length; index++) {
    const above = distances[index + 1];
    const replaced = diagonal + (point === text[index] ? 0 : 1);
    distances[index + 1] = Math.min(above + 1, distances[index] + 1, replaced);
    diagonal = above;
  }
}

function distance(left: Uint32Array, right: Uint32Array): number {
  const distances = firstDistances(right);
  for (const point of left) addCharacter(distances, point, right);
  return distances[right.length];
}

function* distanceInSteps(left: Uint32Array, right: Uint32Array): Steps<number> {
  // One step goes through the shorter text, which has at most the root of `MAX_STEPS` characters.
  const [longer, shorter] = left.length < right.length ? [right, left] : [left, right];
  const pace = new Pace(STEP_PAIRS);
  const distances = firstDistances(shorter);
  for (const point of longer) {
    addCharacter(distances, point, shorter);
    if (pace.isStep(1 + shorter.length)) yield;
  }
  return distances[shorter.length];
}

function* longDistance(left: TextLane, right: TextLane, row: number): Steps<number> {
  const first = yield* countCharactersInSteps(left.bytes, left.start(row), left.end(row));
  const second = yield* countCharactersInSteps(right.bytes, right.start(row), right.end(row));
  if (first * second > MAX_STEPS) {
    throw new InvalidInputError(`levenshtein: texts of ${first} and ${second} characters are too long`);
  }
  if (first === 0 || second === 0) return first + second;
  return yield* distanceInSteps(yield* pointsInSteps(left, row), yield* pointsInSteps(right, row));
}

function* pointsInSteps(lane: TextLane, row: number): Steps<Uint32Array> {
  const parts: Uint32Array[] = [];
  const end = lane.end(row);
  for (let start = lane.start(row); start < end; ) {
    const stop = endOfCharacter(lane.bytes, Math.min(end, start + STEP_BYTES) - 1, end);
    parts.push(pointsOf(lane.bytes, start, stop));
    start = stop;
    yield;
  }
  return concatWords(parts);
}

const levenshtein = ofTexts("tt", INT32, (operands, length, valid) => {
  const [left, right] = [operands.text(0), operands.text(1)];
  return numberRows(operands.lanes, length, valid, (row) =>
    left.size(row) * right.size(row) > STEP_PAIRS || left.size(row) + right.size(row) > STEP_BYTES
      ? longDistance(left, right, row)
      : distance(
          pointsOf(left.bytes, left.start(row), left.end(row)),
          pointsOf(right.bytes, right.start(row), right.end(row)),
        ),
  );
});

export const COMPARED_TEXT_FUNCTIONS: Functions = { levenshtein };
