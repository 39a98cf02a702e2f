/**
 * Functions that make lists of the items of others, and those that pick one item. Each finds the places of the items
 * that it wants, row by row, and takes them at once. Nulls among the items equal each other.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { InvalidInputError } from "../../errors.js";
import { perRow } from "../kernels/arithmetic.js";
import { takeWhere } from "../kernels/choice.js";
import { rowComparison } from "../kernels/compare.js";
import { takeBounded } from "../values/boundedTake.js";
import type { Operand, ValueKernel } from "../values/operands.js";
import { listLane, nullsOf, type Scalar, scalarReader } from "../values/scalars.js";
import { INT64, listTypeOf, STRING, UINT64, type ValueType } from "../values/types.js";
import { withCommonItems, withComparedItems } from "./commonItems.js";
import {
  type FunctionDefinition,
  type FunctionForm,
  type Functions,
  operandCount,
  wantsInteger,
} from "./form.js";
import { ComparedItems, checkCompared, type ItemRange } from "./itemSets.js";

const listOperands = "a list is expected";
/** Maximum items that a function makes for one batch. */
const MAX_ITEMS = 2 ** 26;

function checkItems(count: number): void {
  if (count > MAX_ITEMS) throw new InvalidInputError(`lists of a batch have more than ${MAX_ITEMS} items`);
}

/** The items of all operands in one column, and where those of an operand begin in it. */
interface Pool {
  readonly items: Column;
  readonly starts: readonly number[];
}

function poolOf(parts: readonly Column[]): Pool {
  const starts: number[] = [];
  let base = 0;
  for (const part of parts) {
    starts.push(base);
    base += part.length;
  }
  return { items: parts.length === 1 ? parts[0] : concatColumns(parts), starts };
}

/** Places in the pool of the items of an operand: of its list, or the value itself. */
type Places = (row: number) => ItemRange;

function placesOf(operand: Operand, isList: boolean, base: number): Places {
  if (!isList) return (row) => ({ start: base + row * operand.step, end: base + row * operand.step + 1 });
  const { offsets } = listLane(operand);
  const { column, step } = operand;
  return (row) => {
    const at = row * step;
    if (column.kind !== "null" && !isValid(column.validity, at)) return { start: base, end: base };
    return { start: base + offsets[at], end: base + offsets[at + 1] };
  };
}

/** Adds the places of a row's items. */
type Arrange = (
  places: readonly ItemRange[],
  items: ComparedItems,
  add: (place: number) => void,
  numbers: readonly number[],
) => void;

/**
 * A kernel that makes a list for each row.
 * @param kinds of the operands: l list, v value, n whole number
 */
function arranged(
  kinds: string,
  item: ValueType,
  arrange: Arrange,
  types: readonly ValueType[],
): ValueKernel {
  return (operands, length, valid) => {
    const sources = operands.flatMap((operand, index) => (kinds[index] === "n" ? [] : [{ operand, index }]));
    const columns = sources.map(({ operand, index }) =>
      operand.column.kind === "null"
        ? nullsOf(item, operand.column.length)
        : kinds[index] === "l"
          ? listLane(operand).items
          : operand.column,
    );
    const { items, starts } = poolOf(columns);
    const places = sources.map(({ operand, index }, source) =>
      placesOf(operand, kinds[index] === "l", starts[source]),
    );
    const numbers = operands.flatMap((operand, index) =>
      kinds[index] === "n" ? [scalarReader(operand, types[index])] : [],
    );
    const compared = new ComparedItems(items, item);
    const taken: number[] = [];
    const offsets = new Int32Array(length + 1);
    for (let row = 0; row < length; row++) {
      if (isValid(valid, row)) {
        arrange(
          places.map((of) => of(row)),
          compared,
          (place) => taken.push(place),
          numbers.map((read) => Number(read(row) ?? 0)),
        );
        checkItems(taken.length);
      }
      offsets[row + 1] = taken.length;
    }
    const all = taken.length === 0 ? nullsOf(item, 0) : takeBounded(items, Uint32Array.from(taken));
    return { kind: "list", length, validity: valid, offsets, items: all };
  };
}

/** @param kinds as for {@link arranged}; the first l gives the type of the items */
function arranging(kinds: string, arrange: Arrange, isStrict = true): FunctionDefinition {
  return (types) => {
    if (types.length !== kinds.length) return operandCount(kinds.length);
    const list = types.find((type, index) => kinds[index] === "l" && type.kind === "list");
    if (list?.kind !== "list") return listOperands;
    const { item } = list;
    const operands = types.map((type, index): ValueType | null => {
      if (kinds[index] === "v") return item;
      if (kinds[index] === "n") return wantsInteger(type) ? INT64 : null;
      return type.kind === "list" || type.kind === "null" ? listTypeOf(item) : null;
    });
    const wanted = operands.filter((type) => type !== null);
    if (wanted.length < operands.length) return "lists, their items and whole numbers are expected";
    const form: FunctionForm = {
      operands: wanted,
      type: listTypeOf(item),
      kernel: arranged(kinds, item, arrange, wanted),
      isStrict,
    };
    return form;
  };
}

const append = arranging("lv", (places, _, add) => addEach(places, add), false);
const prepend = arranging("vl", (places, _, add) => addEach(places, add), false);

function addEach(places: readonly ItemRange[], add: (place: number) => void): void {
  for (const each of places) addAll(each, add);
}

function addAll({ start, end }: ItemRange, add: (place: number) => void): void {
  for (let place = start; place < end; place++) add(place);
}

/** Of lists that are null nothing comes; where all are, the result is null. */
const concatLists: FunctionDefinition = (types, constants) => {
  if (types.length === 0) return operandCount(1, Number.POSITIVE_INFINITY);
  const form = arranging(
    "l".repeat(types.length),
    (places, _, add) => addEach(places, add),
    false,
  )(types, constants);
  if (typeof form === "string") return form;
  return {
    ...form,
    kernel: (operands, length, valid) => {
      const lists = form.kernel(operands, length, valid);
      const known = new Uint8Array((length + 7) >>> 3);
      for (let row = 0; row < length; row++) {
        const isThere = operands.some(
          ({ column, step }) => column.kind !== "null" && isValid(column.validity, row * step),
        );
        if (isThere) known[row >>> 3] |= 1 << (row & 7);
      }
      return { ...lists, validity: validityFrom(known, 0, length) } as Column;
    },
  };
};

const concatCommon: FunctionDefinition = (types, constants) =>
  withCommonItems(concatLists, ...types.keys())(types, constants);

/** Adds the items of some places for which a test holds, each value once. */
function addDistinct(
  ranges: readonly ItemRange[],
  items: ComparedItems,
  add: (place: number) => void,
  wants: (place: number) => boolean = () => true,
): void {
  const seen = items.emptySet();
  for (const range of ranges) {
    checkCompared(range);
    for (let place = range.start; place < range.end; place++) {
      if (wants(place) && seen.add(place)) add(place);
    }
  }
}

const distinct = arranging("l", (lists, items, add) => addDistinct(lists, items, add));
const union = arranging("ll", (lists, items, add) => addDistinct(lists, items, add));
/** In the order of the longer list, as the reference has it. */
const intersect = arranging("ll", ([one, other], items, add) => {
  const isLonger = other.end - other.start > one.end - one.start;
  const [longer, shorter] = isLonger ? [other, one] : [one, other];
  const wanted = items.setOf(shorter);
  addDistinct([longer], items, add, (place) => wanted.has(place));
});
const except = arranging("ll", ([one, other], items, add) => {
  const others = items.setOf(other);
  addDistinct([one], items, add, (place) => !others.has(place));
});

const reverse = arranging("l", ([{ start, end }], _, add) => {
  for (let place = end - 1; place >= start; place--) add(place);
});
const popFront = arranging("l", ([{ start, end }], _, add) => addAll({ start: start + 1, end }, add));
const popBack = arranging("l", ([{ start, end }], _, add) => addAll({ start, end: end - 1 }, add));

/** The first `most` items that equal a value are left out, or replaced. */
function without(
  { start, end }: ItemRange,
  value: number,
  most: number,
  same: (one: number, other: number) => boolean,
  add: (place: number) => void,
  replacement?: number,
): void {
  let left = most;
  for (let place = start; place < end; place++) {
    if (left <= 0 || !same(place, value)) {
      add(place);
      continue;
    }
    left--;
    if (replacement !== undefined) add(replacement);
  }
}

const removing = (most: number) =>
  arranging("lv", ([list, value], { same }, add) => without(list, value.start, most, same, add));
const removeSome = arranging("lvn", ([list, value], { same }, add, [most]) =>
  without(list, value.start, most, same, add),
);
const replacing = (most: number) =>
  arranging(
    "lvv",
    ([list, value, other], { same }, add) => without(list, value.start, most, same, add, other.start),
    false,
  );
const replaceSome = arranging(
  "lvvn",
  ([list, value, other], { same }, add, [most]) => without(list, value.start, most, same, add, other.start),
  false,
);

/** A list that is null stays null, whatever the other operands. */
const ofList =
  (definition: FunctionDefinition): FunctionDefinition =>
  (types, constants) => {
    const form = definition(types, constants);
    if (typeof form === "string") return form;
    return {
      ...form,
      kernel: (operands, length, valid) => {
        const lists = form.kernel(operands, length, valid);
        const [{ column, step }] = operands;
        const known = new Uint8Array((length + 7) >>> 3);
        for (let row = 0; row < length; row++) {
          if (column.kind !== "null" && isValid(column.validity, row * step))
            known[row >>> 3] |= 1 << (row & 7);
        }
        return { ...lists, validity: validityFrom(known, 0, length) } as Column;
      },
    };
  };

/** ARRAY_SORT(list [, 'ASC' or 'DESC' [, 'NULLS FIRST' or 'NULLS LAST']]). */
const sort: FunctionDefinition = (types, constants) => {
  if (types.length < 1 || types.length > 3) return operandCount(1, 3);
  const [list] = types;
  if (list.kind !== "list") return listOperands;
  const [, order = "ASC", nulls = "NULLS FIRST"] = constants;
  const isDescending = wordOf(order, ["ASC", "DESC"]);
  const isNullLast = wordOf(nulls, ["NULLS FIRST", "NULLS LAST"]);
  if (isDescending === null || isNullLast === null)
    return "ASC or DESC, and NULLS FIRST or NULLS LAST are expected";
  const { item } = list;
  const kernel: ValueKernel = ([lists], length, valid) => {
    const { items, offsets } = listLane(lists);
    const compare = rowComparison(items, items, item);
    const { validity } = items;
    const order = (one: number, other: number): number => {
      const isThere = isValid(validity, one);
      if (isThere !== isValid(validity, other)) return isThere === (isNullLast === 1) ? -1 : 1;
      return isDescending === 1 ? compare(other, one) : compare(one, other);
    };
    return listsOf(items, item, length, valid, (row, add) => {
      const start = offsets[row * lists.step];
      const count = offsets[row * lists.step + 1] - start;
      checkCompared({ start, end: start + count });
      for (const place of Array.from({ length: count }, (_, index) => start + index).sort(order)) add(place);
    });
  };
  return {
    operands: [listTypeOf(item), ...types.slice(1).map(() => STRING)],
    type: listTypeOf(item),
    kernel,
  };
};

const wordOf = (text: Scalar | undefined, words: readonly string[]): number | null => {
  const place = typeof text === "string" ? words.indexOf(text.trim().toUpperCase()) : -1;
  return place < 0 ? null : place;
};

/**
 * A list for each row.
 * @param fill adds the places of the items that a row's list has
 */
export function listsOf(
  items: Column,
  item: ValueType,
  length: number,
  valid: Validity | null,
  fill: (row: number, add: (place: number) => void) => void,
): Column {
  const taken: number[] = [];
  const offsets = new Int32Array(length + 1);
  for (let row = 0; row < length; row++) {
    if (isValid(valid, row)) fill(row, (place) => checkItems(taken.push(place)));
    offsets[row + 1] = taken.length;
  }
  const all = taken.length === 0 ? nullsOf(item, 0) : takeBounded(items, Uint32Array.from(taken));
  return { kind: "list", length, validity: valid, offsets, items: all };
}

/** One item of each list: -1 where there is none. */
function picking(
  pick: (
    start: number,
    end: number,
    isThere: (place: number) => boolean,
    compare: (one: number, other: number) => number,
  ) => number,
): FunctionDefinition {
  return (types) => {
    if (types.length !== 1) return operandCount(1);
    const [list] = types;
    if (list.kind !== "list") return listOperands;
    const { item } = list;
    const kernel: ValueKernel = ([lists], length, valid) => {
      const { items, offsets } = listLane(lists);
      const compare = rowComparison(items, items, item);
      const isThere = (place: number) => items.kind !== "null" && isValid(items.validity, place);
      const indices = new Uint32Array(length);
      const known = new Uint8Array((length + 7) >>> 3);
      for (let row = 0; row < length; row++) {
        if (!isValid(valid, row)) continue;
        const at = row * lists.step;
        const place = pick(offsets[at], offsets[at + 1], isThere, compare);
        if (place < 0) continue;
        indices[row] = place;
        known[row >>> 3] |= 1 << (row & 7);
      }
      return takeWhere(items, indices, known, item);
    };
    return { operands: [list], type: item, kernel };
  };
}

const extremeItem = (sign: 1 | -1) =>
  picking((start, end, isThere, compare) => {
    let best = -1;
    for (let place = start; place < end; place++) {
      if (isThere(place) && (best < 0 || compare(place, best) * sign > 0)) best = place;
    }
    return best;
  });

const anyItem = picking((start, end, isThere) => {
  for (let place = start; place < end; place++) if (isThere(place)) return place;
  return -1;
});

/** The places of a value, from 1. */
const positions: FunctionDefinition = (types) => {
  if (types.length !== 2) return operandCount(2);
  const [list] = types;
  if (list.kind !== "list") return listOperands;
  const type = listTypeOf(UINT64);
  const kernel: ValueKernel = ([lists, wanted], length) => {
    const { items, offsets } = listLane(lists);
    const compare = rowComparison(items, wanted.column, list.item);
    return perRow(type, length, null, (row) => {
      if (!isValid(lists.column.validity, row * lists.step)) return null;
      const found: bigint[] = [];
      const start = offsets[row * lists.step];
      for (let place = start; place < offsets[row * lists.step + 1]; place++) {
        if (compare(place, row * wanted.step) === 0) found.push(BigInt(place - start + 1));
      }
      return found;
    });
  };
  return { operands: [list, list.item], type, kernel, isStrict: false };
};

/** Under each of its names: some begin with `array`, some with `list`. */
const named = (definition: FunctionDefinition, ...names: readonly string[]): Functions =>
  Object.fromEntries(names.map((name) => [name, definition]));

export const REARRANGING_FUNCTIONS: Functions = {
  ...named(withCommonItems(append, 0, 1), "array_append", "list_append", "array_push_back", "list_push_back"),
  ...named(
    withCommonItems(prepend, 0, 1),
    "array_prepend",
    "list_prepend",
    "array_push_front",
    "list_push_front",
  ),
  ...named(concatCommon, "array_concat", "array_cat", "list_concat", "list_cat"),
  ...named(distinct, "array_distinct", "list_distinct"),
  ...named(withCommonItems(union, 0, 1), "array_union", "list_union"),
  ...named(withCommonItems(intersect, 0, 1), "array_intersect", "list_intersect"),
  ...named(withCommonItems(except, 0, 1), "array_except", "list_except"),
  ...named(reverse, "array_reverse", "list_reverse"),
  ...named(popFront, "array_pop_front", "list_pop_front"),
  ...named(popBack, "array_pop_back", "list_pop_back"),
  ...named(withCommonItems(removing(1), 0, 1), "array_remove", "list_remove"),
  ...named(withCommonItems(removing(Number.POSITIVE_INFINITY), 0, 1), "array_remove_all", "list_remove_all"),
  ...named(withCommonItems(removeSome, 0, 1), "array_remove_n", "list_remove_n"),
  ...named(withCommonItems(ofList(replacing(1)), 0, 1, 2), "array_replace", "list_replace"),
  ...named(
    withCommonItems(ofList(replacing(Number.POSITIVE_INFINITY)), 0, 1, 2),
    "array_replace_all",
    "list_replace_all",
  ),
  ...named(withCommonItems(ofList(replaceSome), 0, 1, 2), "array_replace_n", "list_replace_n"),
  ...named(sort, "array_sort", "list_sort"),
  ...named(extremeItem(1), "array_max", "list_max"),
  ...named(extremeItem(-1), "array_min", "list_min"),
  ...named(anyItem, "array_any_value", "list_any_value"),
  ...named(withComparedItems(positions), "array_positions", "list_positions"),
};
