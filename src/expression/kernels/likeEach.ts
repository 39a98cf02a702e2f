/** LIKE with a pattern in each row. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import type { ValueKernel } from "../values/operands.js";
import { textOfBytes } from "../values/scalars.js";
import { piecesOf, piecesTest } from "./like.js";
import type { TextTest } from "./textQuestion.js";
import { TextLane, truthRows } from "./textRows.js";

const MAX_PATTERNS = 256;

/** Work of compiling a pattern besides its characters, and of a step: a character takes some microseconds. */
const PATTERN_WORK = 16;

const STEP_PATTERNS = 256;

export function likeEachKernel(escaping: string, ignoresCase: boolean, isNegated: boolean): ValueKernel {
  const tests = new Map<string, TextTest>();
  const pace = new Pace(STEP_PATTERNS);
  function* testOf(pattern: string): Steps<TextTest> {
    const cached = tests.get(pattern);
    if (cached !== undefined) return cached;
    const test = yield* piecesTest(piecesOf(pattern, escaping), ignoresCase);
    if (pace.isStep(PATTERN_WORK + pattern.length)) yield;
    // Looking up a long pattern takes as long as compiling it.
    if (pattern.length > LONG_PATTERN) return test;
    if (tests.size >= MAX_PATTERNS) tests.clear();
    tests.set(pattern, test);
    return test;
  }
  return ([operand, patterns], length, valid) => {
    const [lane, patternLane] = [new TextLane(operand), new TextLane(patterns)];
    return truthRows([lane, patternLane], length, valid, function* test(row) {
      const pattern = yield* textOfBytes(patternLane.bytes, patternLane.start(row), patternLane.end(row));
      const { bytes } = lane;
      const [start, end] = [lane.start(row), lane.end(row)];
      const like = yield* testOf(pattern);
      return (like.fits(bytes, start, end) ?? (yield* like.inSteps(bytes, start, end))) !== isNegated;
    });
  };
}

/** Maximum length of a pattern that is kept. */
const LONG_PATTERN = 256;
