/** ARRAY_SORT. */

import { isValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { RowOrder } from "../kernels/rowOrder.js";
import type { ValueKernel } from "../values/operands.js";
import { listLane, type Scalar } from "../values/scalars.js";
import { listTypeOf, STRING } from "../values/types.js";
import { takingList } from "./form.js";
import { checkCompared, STEP_ITEMS } from "./itemSets.js";
import { listsOf, type TakenItems } from "./takenItems.js";

/** ARRAY_SORT(list [, 'ASC' or 'DESC' [, 'NULLS FIRST' or 'NULLS LAST']]). */
export const sort = takingList("l?vv", ({ item }, types, constants) => {
  const [, order = "ASC", nulls = "NULLS FIRST"] = constants;
  const isDescending = wordOf(order, ["ASC", "DESC"]);
  const isNullLast = wordOf(nulls, ["NULLS FIRST", "NULLS LAST"]);
  if (isDescending === null || isNullLast === null)
    return "expected ASC or DESC, and NULLS FIRST or NULLS LAST";
  const kernel: ValueKernel = ([lists], length, valid) => {
    const { items, offsets } = listLane(lists);
    const rows = new RowOrder(items, items, item);
    const { validity } = items;
    const pace = new Pace(STEP_ITEMS);
    const sign = isDescending === 1 ? -1 : 1;
    /** Orders by nulls only; 0 if both or neither are null. */
    const orderOfNulls = (left: number, right: number): number => {
      const isThere = isValid(validity, left);
      if (isThere === isValid(validity, right)) return 0;
      return isThere === (isNullLast === 1) ? -1 : 1;
    };
    const orderNow =
      validity === null && sign === 1
        ? rows.compare
        : (left: number, right: number): number =>
            orderOfNulls(left, right) || sign * rows.compare(left, right);
    const order: ItemOrder = {
      compare: orderNow,
      work: rows.isSmall ? () => 1 : (left, right) => rows.work(left, right),
      isLong: rows.isSmall ? () => false : (left, right) => rows.isLong(left, right),
      *inSteps(left, right) {
        return orderOfNulls(left, right) || sign * (yield* rows.inSteps(left, right));
      },
    };
    function* addSorted(start: number, end: number, takenItems: TakenItems): Steps<void> {
      checkCompared({ start, end });
      for (const position of yield* sorted(start, end, order, pace)) {
        takenItems.add(position);
        if (takenItems.pace.isStep()) yield;
      }
    }
    const few = new Uint32Array(FEW_SORTED);
    return listsOf(items, item, length, valid, (row, takenItems) => {
      const start = offsets[row * lists.step];
      const end = offsets[row * lists.step + 1];
      if (end - start > FEW_SORTED || !rows.isSmall) return addSorted(start, end, takenItems);
      const count = sortFew(few, start, end, orderNow);
      for (let index = 0; index < count; index++) takenItems.add(few[index]);
      takenItems.pace.add(count * count);
      return undefined;
    });
  };
  const type = listTypeOf(item);
  return { operands: [type, ...types.slice(1).map(() => STRING)], type, kernel };
});

/** Up to this number of items, insertion sort is the quickest. */
export const FEW_SORTED = 32;

/** Writes the indices from `start` to `end` in an order. @returns their number */
function sortFew(
  indices: Uint32Array,
  start: number,
  end: number,
  order: (left: number, right: number) => number,
): number {
  const count = end - start;
  for (let index = 0; index < count; index++) {
    const position = start + index;
    let to = index;
    for (; to > 0 && order(indices[to - 1], position) > 0; to--) indices[to] = indices[to - 1];
    indices[to] = position;
  }
  return count;
}

/** An order of items, of any length. */
interface ItemOrder {
  compare(left: number, right: number): number;
  work(left: number, right: number): number;
  isLong(left: number, right: number): boolean;
  inSteps(left: number, right: number): Steps<number>;
}

/** Returns the indices from `start` to `end` in an order: a merge sort. Equal items keep their order. */
function* sorted(start: number, end: number, order: ItemOrder, pace: Pace): Steps<Uint32Array> {
  let indices = new Uint32Array(end - start);
  for (let index = 0; index < indices.length; index++) indices[index] = start + index;
  let target = new Uint32Array(indices.length);
  for (let width = 1; width < indices.length; width *= 2) {
    for (let first = 0; first < indices.length; first += 2 * width) {
      const middle = Math.min(first + width, indices.length);
      const last = Math.min(middle + width, indices.length);
      let left = first;
      let right = middle;
      let to = first;
      while (left < middle && right < last) {
        const [one, two] = [indices[left], indices[right]];
        const ordered = order.isLong(one, two) ? yield* order.inSteps(one, two) : order.compare(one, two);
        if (ordered <= 0) {
          target[to++] = one;
          left++;
        } else {
          target[to++] = two;
          right++;
        }
        if (pace.isStep(order.work(one, two))) yield;
      }
      if (left < middle) target.set(indices.subarray(left, middle), to);
      else target.set(indices.subarray(right, last), to);
    }
    yield;
    [indices, target] = [target, indices];
  }
  return indices;
}

const wordOf = (text: Scalar | undefined, words: readonly string[]): number | null => {
  const position = typeof text === "string" ? words.indexOf(text.slice(0, 100).trim().toUpperCase()) : -1;
  return position < 0 ? null : position;
};
