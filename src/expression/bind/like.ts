/** Binds LIKE and ILIKE. */

import type { Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import { type Bound, isNull, nullOf } from "../evaluate/bound.js";
import { notCondition, withCondition } from "../evaluate/condition.js";
import { likeCondition } from "../evaluate/likeCondition.js";
import { likeKernel } from "../kernels/like.js";
import type { SyntaxOf } from "../parse/syntax.js";
import { byteLane } from "../values/operands.js";
import { textOfBytes } from "../values/scalars.js";
import { BOOL } from "../values/types.js";
import type { BoundNodes } from "./nodes.js";

/** The first pattern that is no constant loads this module. */
const eachPattern = lazyModule(() => import("../kernels/likeEach.js"));

/** @param operand of type text, like the pattern */
export function* like(
  nodes: BoundNodes,
  node: SyntaxOf<"like">,
  operand: Bound,
  pattern: Bound,
): Steps<Bound> {
  const { escape: escaping, ignoresCase, isNegated } = node;
  if (pattern.kind !== "constant") {
    const { likeEachKernel } = yield* lazySteps(eachPattern);
    const kernel = likeEachKernel(escaping ?? "\\", ignoresCase, isNegated);
    return yield* nodes.call(node, [operand, pattern], BOOL, kernel);
  }
  if (isNull(pattern)) return nullOf(BOOL);
  const { bytes, offsets } = byteLane({ column: pattern.column, step: 0 });
  const text = yield* textOfBytes(bytes, offsets[0], offsets[1]);
  const kernel = yield* nodes.makeInSteps(node, () =>
    likeKernel(text, escaping ?? "\\", ignoresCase, isNegated),
  );
  const bound = yield* nodes.call(node, [operand], BOOL, kernel);
  if (ignoresCase) return bound;
  const condition = likeCondition(operand, text, escaping ?? "\\");
  return withCondition(bound, isNegated ? notCondition(condition) : condition);
}
