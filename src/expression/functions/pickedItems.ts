/** Functions that pick an item of each list, or return positions of items. Nulls in lists are equal. */

import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { wideColumn } from "../kernels/arithmetic.js";
import { takeWhere } from "../kernels/choice.js";
import { RowOrder } from "../kernels/rowOrder.js";
import { GrowingNumbers } from "../values/growing.js";
import type { ValueKernel } from "../values/operands.js";
import { listLane } from "../values/scalars.js";
import { listTypeOf, UINT64 } from "../values/types.js";
import { type FunctionDefinition, takingList } from "./form.js";
import { STEP_ITEMS } from "./itemSets.js";
import { FEW_SORTED } from "./sortedLists.js";

/** Picks one item of each list. The index -1 means none. */
function picking(
  pick: (
    start: number,
    end: number,
    isThere: (position: number) => boolean,
    rows: RowOrder,
    pace: Pace,
  ) => number | Steps<number>,
): FunctionDefinition {
  return takingList("l", (list) => {
    const { item } = list;
    const kernel: ValueKernel = function* run([lists], length, valid) {
      const { items, offsets } = listLane(lists);
      const rows = new RowOrder(items, items, item);
      const pace = new Pace(STEP_ITEMS);
      const isThere = (position: number) => items.kind !== "null" && isValid(items.validity, position);
      const indices = new Uint32Array(length);
      const validBits = new Uint8Array((length + 7) >>> 3);
      for (let row = 0; row < length; row++) {
        if (!isValid(valid, row)) continue;
        const index = row * lists.step;
        if (pace.isStep()) yield;
        const picked = pick(offsets[index], offsets[index + 1], isThere, rows, pace);
        const position = typeof picked === "number" ? picked : yield* picked;
        if (position < 0) continue;
        indices[row] = position;
        validBits[row >>> 3] |= 1 << (row & 7);
      }
      return yield* takeWhere(items, indices, validBits, item);
    };
    return { operands: [list], type: item, kernel };
  });
}

export const extremeItem = (sign: 1 | -1) =>
  picking((start, end, isThere, rows, pace) => {
    if (end - start > FEW_SORTED || !rows.isSmall)
      return extremeInSteps(sign, start, end, isThere, rows, pace);
    let best = -1;
    for (let position = start; position < end; position++) {
      if (isThere(position) && (best < 0 || rows.compare(position, best) * sign > 0)) best = position;
    }
    return best;
  });

function* extremeInSteps(
  sign: 1 | -1,
  start: number,
  end: number,
  isThere: (position: number) => boolean,
  rows: RowOrder,
  pace: Pace,
): Steps<number> {
  let best = -1;
  for (let position = start; position < end; position++) {
    if (!isThere(position)) {
      if (pace.isStep()) yield;
      continue;
    }
    if (best < 0) {
      best = position;
      continue;
    }
    const order = rows.isLong(position, best)
      ? yield* rows.inSteps(position, best)
      : rows.compare(position, best);
    if (order * sign > 0) best = position;
    if (pace.isStep(rows.work(position, best))) yield;
  }
  return best;
}

export const anyItem = picking((start, end, isThere, _, pace) => {
  const near = Math.min(end, start + FEW_SORTED);
  for (let position = start; position < near; position++) if (isThere(position)) return position;
  return near === end ? -1 : anyInSteps(near, end, isThere, pace);
});

function* anyInSteps(
  start: number,
  end: number,
  isThere: (position: number) => boolean,
  pace: Pace,
): Steps<number> {
  for (let position = start; position < end; position++) {
    if (isThere(position)) return position;
    if (pace.isStep()) yield;
  }
  return -1;
}

/** The positions of a value, from 1. */
export const positions = takingList("lv", (list) => {
  const type = listTypeOf(UINT64);
  const kernel: ValueKernel = function* run([lists, needle], length) {
    const { items, offsets } = listLane(lists);
    const rows = new RowOrder(items, needle.column, list.item);
    const pace = new Pace(STEP_ITEMS);
    const positions = new GrowingNumbers();
    const ends = new GrowingNumbers();
    const validBits = new Uint8Array((length + 7) >>> 3);
    for (let row = 0; row < length; row++) {
      if (pace.isStep()) yield;
      if (isValid(lists.column.validity, row * lists.step)) {
        validBits[row >>> 3] |= 1 << (row & 7);
        const value = row * needle.step;
        const start = offsets[row * lists.step];
        for (let position = start; position < offsets[row * lists.step + 1]; position++) {
          const order = rows.isLong(position, value)
            ? yield* rows.inSteps(position, value)
            : rows.compare(position, value);
          if (order === 0) positions.push(position - start + 1);
          if (pace.isStep(rows.work(position, value))) yield;
        }
      }
      ends.push(positions.length);
    }
    const listOffsets = new Int32Array(length + 1);
    listOffsets.set(yield* ends.finish(), 1);
    const numbers = yield* wideColumn(yield* positions.finish());
    const validity = validityFrom(validBits, 0, length);
    return { kind: "list", length, validity, offsets: listOffsets, items: numbers };
  };
  return { operands: [list, list.item], type, kernel, isStrict: false };
});
