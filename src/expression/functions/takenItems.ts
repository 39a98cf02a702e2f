/** Lists made from the items of other lists. Their indices are collected, and they are taken together. */

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
import { type FunctionDefinition, taking } from "./form.js";
import { ComparedItems, type ItemRange, STEP_ITEMS } from "./itemSets.js";

const MAX_ITEMS = 2 ** 26;

function checkItems(count: number): void {
  if (count > MAX_ITEMS)
    throw new InvalidInputError(`the lists of a batch have more than ${MAX_ITEMS} items`);
}

/** Range of an operand of a row among all items: those of its list, or the value itself. */
type RangeOf = (row: number) => ItemRange;

function rangesOf(operand: Operand, isList: boolean, base: number): RangeOf {
  if (!isList) return (row) => ({ start: base + row * operand.step, end: base + row * operand.step + 1 });
  const { offsets } = listLane(operand);
  const { column, step } = operand;
  return (row) => {
    const index = row * step;
    if (!isValid(column.validity, index)) return { start: base, end: base };
    return { start: base + offsets[index], end: base + offsets[index + 1] };
  };
}

/** Adds the indices of a row's items. Many indices are added in steps. */
export type Arrange = (
  ranges: readonly ItemRange[],
  items: ComparedItems,
  takenItems: TakenItems,
  numbers: readonly number[],
) => Steps<void> | undefined;

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

export const STEP_PLACES = 2 ** 14;

/**
 * A kernel that makes a list for each row.
 * @param kinds of the operands: l list, v value, i whole number
 */
function arranged(
  kinds: string,
  item: ValueType,
  arrange: Arrange,
  types: readonly ValueType[],
): ValueKernel {
  return function* run(operands, length, valid) {
    const sources = operands.flatMap((operand, index) => (kinds[index] === "i" ? [] : [{ operand, index }]));
    const columns = sources.map(({ operand, index }) =>
      operand.column.kind === "null"
        ? nullsOf(item, operand.column.length)
        : kinds[index] === "l"
          ? listLane(operand).items
          : operand.column,
    );
    const items = yield* concatInSteps(columns);
    let base = 0;
    const rangeOfOperand = sources.map(({ operand, index }, source) => {
      const ranges = rangesOf(operand, kinds[index] === "l", base);
      base += columns[source].length;
      return ranges;
    });
    const numbers = operands.flatMap((operand, index) =>
      kinds[index] === "i" ? [scalarReader(operand, types[index])] : [],
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

/** @param kinds as for {@link arranged}; the first list gives the type of the items */
export function arranging(kinds: string, arrange: Arrange, isStrict = true): FunctionDefinition {
  const isList = (type: ValueType, index: number) => kinds[index] === "l" && type.kind === "list";
  return taking(kinds.replaceAll("l", "v"), (types) => {
    const list = types.find(isList);
    const isFit = types.every(
      (type, index) => kinds[index] !== "l" || type.kind === "null" || isList(type, index),
    );
    if (list?.kind !== "list" || !isFit) return "lists are expected";
    const { item } = list;
    const type = listTypeOf(item);
    const operands = types.map((_, index) =>
      kinds[index] === "v" ? item : kinds[index] === "i" ? INT64 : type,
    );
    return { operands, type, kernel: arranged(kinds, item, arrange, operands), isStrict };
  });
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
