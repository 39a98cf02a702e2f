/** Functions that make lists of values, of numbers in a row, and of parts of other lists. */

import type { Column } from "../../arrow/columns/column.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { InvalidInputError } from "../../errors.js";
import { fixedColumn } from "../kernels/arithmetic.js";
import { takeBounded } from "../values/boundedTake.js";
import type { ValueKernel } from "../values/operands.js";
import { listLane, nullsOf, scalarReader } from "../values/scalars.js";
import { INT64, listTypeOf, STRING, type ValueType } from "../values/types.js";
import {
  type FunctionDefinition,
  type Functions,
  integerOperands,
  operandCount,
  textOperands,
  wantsInteger,
  wantsText,
} from "./form.js";
import { listsOf } from "./rearrangedLists.js";
import { rowKernel } from "./text.js";

const listOperands = "a list is expected";
/** Maximum items that these functions make for one batch. */
const MAX_ITEMS = 2 ** 24;

function checkItems(name: string, count: bigint | number): void {
  if (count > MAX_ITEMS) throw new InvalidInputError(`${name}: lists of more than ${MAX_ITEMS} items`);
}

/**
 * ARRAY_SLICE(list, from, to [, step]): the items from one position to another, both included. Positions count from 1, and
 * from the end where they are negative; what lies before the list begins with it.
 */
const slice: FunctionDefinition = (types) => {
  if (types.length < 3 || types.length > 4) return operandCount(3, 4);
  const [list, ...positions] = types;
  if (list.kind !== "list") return listOperands;
  if (!positions.every(wantsInteger)) return integerOperands;
  const { item } = list;
  const kernel: ValueKernel = ([lists, froms, tos, steps], length, valid) => {
    const { items, offsets } = listLane(lists);
    const readFrom = scalarReader(froms, INT64);
    const readTo = scalarReader(tos, INT64);
    const readStep = steps === undefined ? () => 1n : scalarReader(steps, INT64);
    return listsOf(items, item, length, valid, (row, add) => {
      const start = offsets[row * lists.step];
      const count = offsets[row * lists.step + 1] - start;
      const [from, to, step] = [readFrom(row), readTo(row), readStep(row)].map(Number);
      if (step === 0) throw new InvalidInputError("array_slice: a step of 0");
      const first = from < 0 ? Math.max(count + from, 0) : Math.max(from - 1, 0);
      const last = to < 0 ? count + to : Math.min(to, count) - 1;
      if (first >= count || last < 0) return;
      for (let place = first; step > 0 ? place <= last : place >= last; place += step) add(start + place);
    });
  };
  return { operands: [listTypeOf(item), ...positions.map(() => INT64)], type: listTypeOf(item), kernel };
};

/** ARRAY_REPEAT(value, count): nulls are repeated too; none for a count that is not above 0. */
const repeat: FunctionDefinition = (types) => {
  if (types.length !== 2) return operandCount(2);
  const [value, count] = types;
  if (!wantsInteger(count)) return integerOperands;
  const kernel: ValueKernel = ([values, counts], length) => {
    const read = scalarReader(counts, INT64);
    const offsets = new Int32Array(length + 1);
    const known = new Uint8Array((length + 7) >>> 3);
    let total = 0;
    for (let row = 0; row < length; row++) {
      const times = read(row);
      if (times !== null) known[row >>> 3] |= 1 << (row & 7);
      total += Math.max(Number(times ?? 0), 0);
      checkItems("array_repeat", total);
      offsets[row + 1] = total;
    }
    const places = new Uint32Array(total);
    for (let row = 0; row < length; row++) places.fill(row * values.step, offsets[row], offsets[row + 1]);
    const items =
      total === 0 || values.column.kind === "null"
        ? nullsOf(value, total)
        : takeBounded(values.column, places);
    return { kind: "list", length, validity: validityFrom(known, 0, length), offsets, items };
  };
  return { operands: [value, INT64], type: listTypeOf(value), kernel, isStrict: false };
};

/** FLATTEN(list of lists): one list of the items of all, without those that are null. Other lists stay as they are. */
const flatten: FunctionDefinition = (types) => {
  if (types.length !== 1) return operandCount(1);
  const [list] = types;
  if (list.kind !== "list") return listOperands;
  const inner = list.item;
  if (inner.kind !== "list") {
    return { operands: [listTypeOf(inner)], type: listTypeOf(inner), kernel: ([operand]) => operand.column };
  }
  const { item } = inner;
  const kernel: ValueKernel = ([lists], length, valid) => {
    const outer = listLane(lists);
    if (outer.items.kind === "null") return listsOf(outer.items, item, length, valid, () => undefined);
    const { items, offsets } = listLane({ column: outer.items, step: 1 });
    const { validity } = outer.items;
    return listsOf(items, item, length, valid, (row, add) => {
      const end = outer.offsets[row * lists.step + 1];
      for (let place = outer.offsets[row * lists.step]; place < end; place++) {
        if (!isValid(validity, place)) continue;
        for (let at = offsets[place]; at < offsets[place + 1]; at++) add(at);
      }
    });
  };
  return { operands: [listTypeOf(listTypeOf(item))], type: listTypeOf(item), kernel };
};

/** RANGE([start,] stop [, step]) without its end, GENERATE_SERIES with it. */
const series =
  (name: string, isEndIncluded: boolean): FunctionDefinition =>
  (types) => {
    if (types.length < 1 || types.length > 3) return operandCount(1, 3);
    if (!types.every(wantsInteger)) return integerOperands;
    const kernel: ValueKernel = (operands, length, valid) => {
      const readers = operands.map((operand) => scalarReader(operand, INT64));
      const boundsOf = (row: number): readonly [start: bigint, step: bigint, count: bigint] => {
        const values = readers.map((read) => read(row) as bigint);
        const [start, stop, step = 1n] = values.length === 1 ? [0n, values[0]] : values;
        if (step === 0n) throw new InvalidInputError(`${name}: a step of 0`);
        // The number of steps to the end, rounded up, or the number that do not pass it.
        const distance = step > 0n ? stop - start : start - stop;
        const width = step > 0n ? step : -step;
        if (distance < 0n) return [start, step, 0n];
        return [start, step, isEndIncluded ? distance / width + 1n : (distance + width - 1n) / width];
      };
      const offsets = new Int32Array(length + 1);
      let total = 0n;
      for (let row = 0; row < length; row++) {
        if (isValid(valid, row)) total += boundsOf(row)[2];
        checkItems(name, total);
        offsets[row + 1] = Number(total);
      }
      const numbers = new BigInt64Array(Number(total));
      for (let row = 0; row < length; row++) {
        if (offsets[row] === offsets[row + 1]) continue;
        let [value, step] = boundsOf(row);
        for (let at = offsets[row]; at < offsets[row + 1]; at++, value += step) numbers[at] = value;
      }
      const items: Column = fixedColumn(numbers, numbers.length, null);
      return { kind: "list", length, validity: valid, offsets, items };
    };
    const operands: ValueType[] = types.map(() => INT64);
    return { operands, type: listTypeOf(INT64), kernel };
  };

/**
 * STRING_TO_ARRAY(text, separator [, text that stands for null]). Without a separator there is one item for each character;
 * an empty one separates nothing.
 */
const fromText: FunctionDefinition = (types) => {
  if (types.length < 2 || types.length > 3) return operandCount(2, 3);
  if (!types.every(wantsText)) return textOperands;
  const operands = types.map(() => STRING);
  const type = listTypeOf(STRING);
  const kernel = rowKernel(operands, type, ([text, separator, forNull]) => {
    if (text === null) return null;
    const parts =
      separator === null ? Array.from(text as string) : partsOf(text as string, separator as string);
    checkItems("string_to_array", parts.length);
    return parts.map((part) => (part === forNull ? null : part));
  });
  return { operands, type, kernel, isStrict: false };
};

function partsOf(text: string, separator: string): string[] {
  if (text === "") return [];
  return separator === "" ? [text] : text.split(separator);
}

export const NEW_LIST_FUNCTIONS: Functions = {
  string_to_array: fromText,
  string_to_list: fromText,
  array_slice: slice,
  list_slice: slice,
  array_repeat: repeat,
  list_repeat: repeat,
  flatten,
  range: series("range", false),
  generate_series: series("generate_series", true),
};
