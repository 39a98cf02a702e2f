/** Functions that make lists from the items of other lists. Nulls among the items equal each other. */

import type { Column } from "../../arrow/columns/column.js";
import { validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { isThere, madeBy, validWhere } from "../values/operands.js";
import { withCommonItems, withComparedItems } from "./commonItems.js";
import { type FunctionDefinition, type Functions, listNames, operandCount } from "./form.js";
import { type ComparedItems, checkCompared, type ItemRange } from "./itemSets.js";
import { anyItem, extremeItem, positions } from "./pickedItems.js";
import { sort } from "./sortedLists.js";
import { type Arrange, arranging, STEP_PLACES, type TakenItems } from "./takenItems.js";

const addEach: Arrange = (ranges, _, takenItems) => {
  for (let index = 0; index < ranges.length; index++) {
    const steps = takenItems.addAll(ranges[index]);
    if (steps !== undefined) return addRest(steps, ranges.slice(index + 1), takenItems);
  }
  return undefined;
};

function* addRest(first: Steps<void>, ranges: readonly ItemRange[], takenItems: TakenItems): Steps<void> {
  yield* first;
  for (const each of ranges) {
    const steps = takenItems.addAll(each);
    if (steps !== undefined) yield* steps;
  }
}

const append = arranging("lv", addEach, false);
const prepend = arranging("vl", addEach, false);

/** Concatenates lists and skips those that are null. If all are null, the result is null. */
const concatLists: FunctionDefinition = (types, constants) => {
  if (types.length === 0) return operandCount(1, Number.POSITIVE_INFINITY);
  const form = arranging("l".repeat(types.length), addEach, false)(types, constants);
  if (typeof form === "string") return form;
  return {
    ...form,
    *kernel(operands, length, valid) {
      const lists = yield* madeBy(form.kernel(operands, length, valid));
      const validBits = new Uint8Array((length + 7) >>> 3);
      const pace = new Pace(STEP_PLACES);
      for (let row = 0; row < length; row++) {
        if (pace.isStep(operands.length)) yield;
        if (operands.some((operand) => isThere(operand, row))) validBits[row >>> 3] |= 1 << (row & 7);
      }
      return { ...lists, validity: validityFrom(validBits, 0, length) } as Column;
    },
  };
};

const concatCommon: FunctionDefinition = (types, constants) =>
  withCommonItems(concatLists, ...types.keys())(types, constants);

interface Wanted {
  readonly list: ItemRange;
  readonly isIn: boolean;
}

/** Adds the items of some ranges, or the wanted ones among them, each value once. */
function addDistinct(
  ranges: readonly ItemRange[],
  items: ComparedItems,
  takenItems: TakenItems,
  wanted: Wanted | null = null,
): Steps<void> | undefined {
  let count = wanted === null ? 0 : wanted.list.end - wanted.list.start;
  for (const { start, end } of ranges) count += end - start;
  if (!items.isQuick(count)) return addDistinctInSteps(ranges, items, takenItems, wanted);
  const others = wanted === null ? null : items.setNow(wanted.list);
  let room = 0;
  for (const { start, end } of ranges) room += end - start;
  const seen = items.seenSet(room);
  for (const { start, end } of ranges) {
    for (let position = start; position < end; position++) {
      if (others !== null && others.hasNow(position) !== wanted?.isIn) continue;
      if (seen.addNow(position)) takenItems.add(position);
    }
  }
  return undefined;
}

function* addDistinctInSteps(
  ranges: readonly ItemRange[],
  items: ComparedItems,
  takenItems: TakenItems,
  wanted: Wanted | null,
): Steps<void> {
  const others = wanted === null ? null : yield* items.setOf(wanted.list);
  let room = 0;
  for (const range of ranges) {
    checkCompared(range);
    room += range.end - range.start;
  }
  const seen = items.seenSet(room);
  for (const range of ranges) {
    for (let item = range.start; item < range.end; item++) {
      let work = 1;
      let isWanted = true;
      if (others !== null) {
        isWanted = (others.hasNow(item) ?? (yield* others.has(item))) === wanted?.isIn;
        work += others.work;
      }
      if (isWanted) {
        if (seen.addNow(item) ?? (yield* seen.add(item))) takenItems.add(item);
        work += seen.work;
      }
      if (takenItems.itemPace.isStep(work)) yield;
    }
  }
}

const distinct = arranging("l", (lists, items, takenItems) => addDistinct(lists, items, takenItems));
const union = arranging("ll", (lists, items, takenItems) => addDistinct(lists, items, takenItems));
/** The result has the order of the longer list, as in the reference. */
const intersect = arranging("ll", ([left, right], items, takenItems) => {
  const isLonger = right.end - right.start > left.end - left.start;
  const [longer, shorter] = isLonger ? [right, left] : [left, right];
  return addDistinct([longer], items, takenItems, { list: shorter, isIn: true });
});
const except = arranging("ll", ([left, right], items, takenItems) =>
  addDistinct([left], items, takenItems, { list: right, isIn: false }),
);

const reverse = arranging("l", ([list], _, takenItems) => takenItems.addAll(list, true));
const popFront = arranging("l", ([{ start, end }], _, takenItems) =>
  takenItems.addAll({ start: start + 1, end }),
);
const popBack = arranging("l", ([{ start, end }], _, takenItems) =>
  takenItems.addAll({ start, end: end - 1 }),
);

/** Omits or replaces the first `max` items that equal a value. */
function without(
  range: ItemRange,
  value: number,
  max: number,
  items: ComparedItems,
  takenItems: TakenItems,
  replacement?: number,
): Steps<void> | undefined {
  const { start, end } = range;
  if (!items.isQuick(end - start)) return withoutInSteps(range, value, max, items, takenItems, replacement);
  let left = max;
  for (let position = start; position < end; position++) {
    if (left <= 0 || !items.sameNow(position, value)) takenItems.add(position);
    else {
      left--;
      if (replacement !== undefined) takenItems.add(replacement);
    }
  }
  return undefined;
}

function* withoutInSteps(
  { start, end }: ItemRange,
  value: number,
  max: number,
  items: ComparedItems,
  takenItems: TakenItems,
  replacement: number | undefined,
): Steps<void> {
  let left = max;
  for (let item = start; item < end; item++) {
    let isLeft = true;
    if (left > 0) {
      const same = items.same(item, value);
      isLeft = !(typeof same === "boolean" ? same : yield* same);
      if (takenItems.itemPace.isStep(items.work(item, value))) yield;
    } else if (takenItems.pace.isStep()) yield;
    if (isLeft) takenItems.add(item);
    else {
      left--;
      if (replacement !== undefined) takenItems.add(replacement);
    }
  }
}

const removing = (max: number) =>
  arranging("lv", ([list, value], items, takenItems) => without(list, value.start, max, items, takenItems));
const removeSome = arranging("lvi", ([list, value], items, takenItems, [max]) =>
  without(list, value.start, max, items, takenItems),
);
const replacing = (max: number) =>
  arranging(
    "lvv",
    ([list, value, replacement], items, takenItems) =>
      without(list, value.start, max, items, takenItems, replacement.start),
    false,
  );
const replaceSome = arranging(
  "lvvi",
  ([list, value, replacement], items, takenItems, [max]) =>
    without(list, value.start, max, items, takenItems, replacement.start),
  false,
);

/** A null list stays null, whatever the other operands. */
const ofList =
  (definition: FunctionDefinition): FunctionDefinition =>
  (types, constants) => {
    const form = definition(types, constants);
    if (typeof form === "string") return form;
    return {
      ...form,
      *kernel(operands, length, valid) {
        const lists = yield* madeBy(form.kernel(operands, length, valid));
        return { ...lists, validity: validWhere(length, (row) => isThere(operands[0], row)) } as Column;
      },
    };
  };

/** Casts a list and a value, or two lists, to one type of items. */
const common = (definition: FunctionDefinition): FunctionDefinition => withCommonItems(definition, 0, 1);
const replacement = (definition: FunctionDefinition): FunctionDefinition =>
  withCommonItems(ofList(definition), 0, 1, 2);

export const REARRANGING_FUNCTIONS: Functions = {
  ...listNames(common(append), "append", "push_back"),
  ...listNames(common(prepend), "prepend", "push_front"),
  ...listNames(concatCommon, "concat", "cat"),
  ...listNames(distinct, "distinct"),
  ...listNames(common(union), "union"),
  ...listNames(common(intersect), "intersect"),
  ...listNames(common(except), "except"),
  ...listNames(reverse, "reverse"),
  ...listNames(popFront, "pop_front"),
  ...listNames(popBack, "pop_back"),
  ...listNames(common(removing(1)), "remove"),
  ...listNames(common(removing(Number.POSITIVE_INFINITY)), "remove_all"),
  ...listNames(common(removeSome), "remove_n"),
  ...listNames(replacement(replacing(1)), "replace"),
  ...listNames(replacement(replacing(Number.POSITIVE_INFINITY)), "replace_all"),
  ...listNames(replacement(replaceSome), "replace_n"),
  ...listNames(sort, "sort"),
  ...listNames(extremeItem(1), "max"),
  ...listNames(extremeItem(-1), "min"),
  ...listNames(anyItem, "any_value"),
  ...listNames(withComparedItems(positions), "positions"),
};
