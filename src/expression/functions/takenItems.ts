/**
 * Lists made from the items of other lists. The indices of the items are found row by row, and the items
 * taken together.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { isValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { takeBounded } from "../values/boundedTake.js";
import { GrowingNumbers } from "../values/growing.js";
import type { Operand, ValueKernel } from "../values/operands.js";
import { listLane, nullsOf, scalarReader } from "../values/scalars.js";
import { INT64, listTypeOf, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type FunctionForm, operandCount, wantsInteger } from "./form.js";
import { ComparedItems, type ItemRange, STEP_ITEMS } from "./itemSets.js";

export const listOperands = "a list is expected";
/** Maximum number of items that a function makes for one batch. */
const MAX_ITEMS = 2 ** 26;

function checkItems(count: number): void {
  if (count > MAX_ITEMS)
    throw new InvalidInputError(`the lists of a batch have more than ${MAX_ITEMS} items`);
}

/** The items of all operands in one column, and the offset of each operand in it. */
interface Pool {
  readonly items: Column;
  readonly starts: readonly number[];
}

function* poolOf(parts: readonly Column[]): Steps<Pool> {
  const starts: number[] = [];
  let base = 0;
  for (const part of parts) {
    starts.push(base);
    base += part.length;
  }
  return { items: yield* concatInSteps(parts), starts };
}

/** Range in the pool of an operand of a row: the items of its list, or the value itself. */
type RangeOf = (row: number) => ItemRange;

function rangesOf(operand: Operand, isList: boolean, base: number): RangeOf {
  if (!isList) return (row) => ({ start: base + row * operand.step, end: base + row * operand.step + 1 });
  const { offsets } = listLane(operand);
  const { column, step } = operand;
  return (row) => {
    const index = row * step;
    if (column.kind !== "null" && !isValid(column.validity, index)) return { start: base, end: base };
    return { start: base + offsets[index], end: base + offsets[index + 1] };
  };
}

/** Adds the indices of a row's items. Many take steps. */
export type Arrange = (
  ranges: readonly ItemRange[],
  items: ComparedItems,
  takenItems: TakenItems,
  numbers: readonly number[],
) => Steps<void> | undefined;

/** The indices of the items of the new lists. */
export class TakenItems {
  readonly #indices = new GrowingNumbers();
  readonly #ends = new GrowingNumbers();
  readonly pace = new Pace(STEP_PLACES);
  /** Counts items that are compared or looked up. */
  readonly itemPace = new Pace(STEP_ITEMS);

  add(position: number): void {
    this.#indices.push(position);
  }

  /** Adds a range of indices, in order or reversed. */
  addAll(range: ItemRange, isReversed = false): Steps<void> | undefined {
    const { start, end } = range;
    if (end - start > STEP_PLACES) return this.#addInSteps(range, isReversed);
    if (isReversed) for (let position = end - 1; position >= start; position--) this.#indices.push(position);
    else for (let slot = start; slot < end; slot++) this.#indices.push(slot);
    return undefined;
  }

  *#addInSteps({ start, end }: ItemRange, isReversed: boolean): Steps<void> {
    for (let position = start; position < end; position++) {
      this.#indices.push(isReversed ? start + end - 1 - position : position);
      if (this.pace.isStep()) yield;
    }
  }

  /** Finishes a list. @throws InvalidInputError for too many items */
  endList(): void {
    checkItems(this.#indices.length);
    this.#ends.push(this.#indices.length);
  }

  *finish(items: Column, item: ValueType, length: number, valid: Validity | null): Steps<Column> {
    const offsets = new Int32Array(length + 1);
    offsets.set(yield* this.#ends.finish(), 1);
    const indices = yield* this.#indices.finish();
    const all = indices.length === 0 ? nullsOf(item, 0) : yield* takeBounded(items, indices);
    return { kind: "list", length, validity: valid, offsets, items: all };
  }
}

/** Items taken per step. */
export const STEP_PLACES = 2 ** 14;

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
  return function* run(operands, length, valid) {
    const sources = operands.flatMap((operand, index) => (kinds[index] === "n" ? [] : [{ operand, index }]));
    const columns = sources.map(({ operand, index }) =>
      operand.column.kind === "null"
        ? nullsOf(item, operand.column.length)
        : kinds[index] === "l"
          ? listLane(operand).items
          : operand.column,
    );
    const { items, starts } = yield* poolOf(columns);
    const rangeOfOperand = sources.map(({ operand, index }, source) =>
      rangesOf(operand, kinds[index] === "l", starts[source]),
    );
    const numbers = operands.flatMap((operand, index) =>
      kinds[index] === "n" ? [scalarReader(operand, types[index])] : [],
    );
    const compared = new ComparedItems(items, item, new Pace(STEP_ITEMS));
    const takenItems = new TakenItems();
    const ranges = new Array<ItemRange>(rangeOfOperand.length);
    const sorted = new Array<number>(numbers.length);
    for (let row = 0; row < length; row++) {
      let work = 1;
      if (isValid(valid, row)) {
        for (let index = 0; index < rangeOfOperand.length; index++)
          ranges[index] = rangeOfOperand[index](row);
        for (let index = 0; index < numbers.length; index++) sorted[index] = Number(numbers[index](row) ?? 0);
        const steps = arrange(ranges, compared, takenItems, sorted);
        if (steps !== undefined) yield* steps;
        work = 8;
        for (const { start, end } of ranges) work += 4 * Math.min(end - start, STEP_PLACES);
      }
      takenItems.endList();
      if (takenItems.pace.isStep(work)) yield;
    }
    return yield* takenItems.finish(items, item, length, valid);
  };
}

/** @param kinds as for {@link arranged}; the first l gives the type of the items */
export function arranging(kinds: string, arrange: Arrange, isStrict = true): FunctionDefinition {
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
    const targetTypes = operands.filter((type) => type !== null);
    if (targetTypes.length < operands.length) return "expected lists, items of them, or whole numbers";
    const form: FunctionForm = {
      operands: targetTypes,
      type: listTypeOf(item),
      kernel: arranged(kinds, item, arrange, targetTypes),
      isStrict,
    };
    return form;
  };
}

/**
 * Makes a list for each row.
 * @param fill adds the indices of the items of a row; null if no row has any
 */
export function* listsOf(
  items: Column,
  item: ValueType,
  length: number,
  valid: Validity | null,
  fill: ((row: number, takenItems: TakenItems) => Steps<void> | undefined) | null,
): Steps<Column> {
  const takenItems = new TakenItems();
  for (let row = 0; row < length; row++) {
    if (fill !== null && isValid(valid, row)) {
      const steps = fill(row, takenItems);
      if (steps !== undefined) yield* steps;
    }
    takenItems.endList();
    if (takenItems.pace.isStep(8)) yield;
  }
  return yield* takenItems.finish(items, item, length, valid);
}
