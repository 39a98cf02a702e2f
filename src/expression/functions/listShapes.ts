/** The dimensions of lists, and zipped lists. */

import type { Column } from "../../arrow/columns/column.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { Pace } from "../../async/eventLoop.js";
import { wideColumn } from "../kernels/arithmetic.js";
import { takeBounded } from "../values/boundedTake.js";
import { GrowingNumbers } from "../values/growing.js";
import type { ValueKernel } from "../values/operands.js";
import { type ListLane, listLane, nullsOf } from "../values/scalars.js";
import { listTypeOf, UINT64, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, listNames, operandCount, takingList } from "./form.js";
import { STEP_ITEMS } from "./itemSets.js";

/** ARRAY_DIMS(list): number of its items, of items of its first item, and so on; null for an empty list. */
const dims = takingList("l", (list) => {
  const type = listTypeOf(UINT64);
  const kernel: ValueKernel = function* run([lists], length, valid) {
    const lanes: ListLane[] = [];
    let { column }: { column: Column } = lists;
    for (let level: ValueType = list; level.kind === "list" && column.kind !== "null"; level = level.item) {
      const lane = listLane({ column, step: 1 });
      lanes.push(lane);
      column = lane.items;
    }
    const counts = new GrowingNumbers();
    const offsets = new Int32Array(length + 1);
    const validBits = new Uint8Array((length + 7) >>> 3);
    const pace = new Pace(STEP_ITEMS);
    for (let row = 0; row < length; row++) {
      const first = row * lists.step;
      const isEmpty = lanes.length === 0 || lanes[0].offsets[first + 1] === lanes[0].offsets[first];
      if (isValid(valid, row) && !isEmpty) {
        validBits[row >>> 3] |= 1 << (row & 7);
        let list = first;
        let isThere = true;
        for (let depth = 0; depth < lanes.length; depth++) {
          const { offsets: starts, items } = lanes[depth];
          const count = isThere ? starts[list + 1] - starts[list] : 0;
          counts.push(count);
          if (count === 0) break;
          list = starts[list];
          isThere = isValid(items.validity, list);
        }
      }
      offsets[row + 1] = counts.length;
      if (pace.isStep(lanes.length)) yield;
    }
    const items = yield* wideColumn(yield* counts.finish());
    return { kind: "list", length, validity: validityFrom(validBits, 0, length), offsets, items };
  };
  return { operands: [list], type, kernel };
});

/**
 * ARRAYS_ZIP(list, …): a list of structs, whose members are named 1, 2, … Nulls pad lists that are shorter or
 * null. If all lists are null, the result is null.
 */
const zip: FunctionDefinition = (types) => {
  if (types.length === 0) return operandCount(1, Number.POSITIVE_INFINITY);
  if (!types.every(({ kind }) => kind === "list" || kind === "null")) return "expected lists";
  const itemTypes = types.map((type): ValueType => (type.kind === "list" ? type.item : { kind: "null" }));
  const members = itemTypes.map((type, index) => ({ name: String(index + 1), type }));
  const kernel: ValueKernel = function* run(operands, length) {
    const pace = new Pace(STEP_ITEMS);
    const lanes = operands.map((operand) => {
      if (operand.column.kind === "null") return null;
      const { items, offsets } = listLane(operand);
      const { validity } = operand.column;
      const { step } = operand;
      const startOf = (row: number) => offsets[row * step];
      const countOf = (row: number) =>
        isValid(validity, row * step) ? offsets[row * step + 1] - offsets[row * step] : -1;
      return { items, startOf, countOf };
    });
    const offsets = new Int32Array(length + 1);
    const validBits = new Uint8Array((length + 7) >>> 3);
    for (let row = 0; row < length; row++) {
      if (pace.isStep(lanes.length)) yield;
      const max = Math.max(...lanes.map((lane) => lane?.countOf(row) ?? -1));
      if (max >= 0) validBits[row >>> 3] |= 1 << (row & 7);
      offsets[row + 1] = offsets[row] + Math.max(max, 0);
    }
    const total = offsets[length];
    const children: Column[] = [];
    for (const [index, lane] of lanes.entries()) {
      const type = itemTypes[index];
      if (lane === null || lane.items.length === 0 || lane.items.kind === "null") {
        children.push(nullsOf(type, total));
        continue;
      }
      const indices = new Uint32Array(total);
      const validItems = new Uint8Array((total + 7) >>> 3);
      for (let row = 0; row < length; row++) {
        if (pace.isStep()) yield;
        const count = lane.countOf(row);
        const start = lane.startOf(row);
        const { validity } = lane.items;
        for (let item = 0; item < count; item++) {
          const target = offsets[row] + item;
          indices[target] = start + item;
          if (isValid(validity, start + item)) validItems[target >>> 3] |= 1 << (target & 7);
          if (pace.isStep()) yield;
        }
      }
      const column = yield* takeBounded(lane.items, indices);
      const validity = validityFrom(validItems, 0, total);
      children.push(column.kind === "null" ? column : ({ ...column, validity } as Column));
    }
    const items: Column = { kind: "struct", length: total, validity: null, children };
    return { kind: "list", length, validity: validityFrom(validBits, 0, length), offsets, items };
  };
  return { operands: types, type: listTypeOf({ kind: "struct", members }), kernel, isStrict: false };
};

export const LIST_SHAPE_FUNCTIONS: Functions = {
  ...listNames(dims, "dims"),
  arrays_zip: zip,
  list_zip: zip,
};
