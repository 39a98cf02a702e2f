/** Orders single values of two columns, and bounds the work: texts, lists and structs may be long. */

import type { Column, ListColumn } from "../../arrow/columns/column.js";
import { codesIn } from "../../arrow/columns/lazyColumn.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { isValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { compareRanges } from "../../bytes/compare.js";
import { bytesBeforeValue } from "../values/boundedTake.js";
import { bitsOf, byteLane, numbersOf, type Operand, wordLane } from "../values/operands.js";
import { listLane } from "../values/scalars.js";
import { byteWidthOf, UNSIZED, type ValueType } from "../values/types.js";
import { STEP_BYTES } from "../values/work.js";
import { compareRangesInSteps } from "./compareText.js";

/** Number of bytes that are compared in the time of a call. */
const BYTES_PER_WORK = 8;
/** Maximum work of comparing two small values. */
export const SMALL_WORK = 8;

export class RowOrder {
  /** Returns below 0 if the left value comes first, 0 if both are equal. Neither value may be long. */
  readonly compare: (left: number, right: number) => number;
  readonly #left: Column;
  readonly #right: Column;
  readonly #type: ValueType;
  /** Return the number of bytes of the values before a row; null for values of a fixed size. */
  readonly #bytesBefore: readonly [(row: number) => number, (row: number) => number] | null;
  #isSmall: boolean | null = null;
  #inSteps: ((left: number, right: number) => Steps<number>) | null = null;

  constructor(left: Column, right: Column, type: ValueType) {
    this.compare = rowComparison(left, right, type);
    this.#left = left;
    this.#right = right;
    this.#type = type;
    this.#bytesBefore = UNSIZED.has(type.kind) ? [bytesBeforeValue(left), bytesBeforeValue(right)] : null;
  }

  /** True if all values have few bytes, so that comparing two takes at most {@link SMALL_WORK}. */
  get isSmall(): boolean {
    this.#isSmall ??= isSmall(this.#left) && (this.#left === this.#right || isSmall(this.#right));
    return this.#isSmall;
  }

  /** Returns the maximum work of comparing two values: 1 for numbers. */
  work(left: number, right: number): number {
    return this.#bytesBefore === null ? 1 : 1 + Math.ceil(this.#bytes(left, right) / BYTES_PER_WORK);
  }

  isLong(left: number, right: number): boolean {
    return this.#bytesBefore !== null && this.#bytes(left, right) > STEP_BYTES;
  }

  /** Compares values of any length like {@link compare}. */
  inSteps(left: number, right: number): Steps<number> {
    this.#inSteps ??= orderInSteps(this.#left, this.#right, this.#type);
    return this.#inSteps(left, right);
  }

  #bytes(left: number, right: number): number {
    if (this.#bytesBefore === null) return 0;
    const [before, otherBefore] = this.#bytesBefore;
    return Math.min(before(left + 1) - before(left), otherBefore(right + 1) - otherBefore(right));
  }
}

/** Maximum number of bytes of a small value, and of items of a small list. */
const MAX_SMALL = 64;
const MAX_SMALL_ITEMS = 16;

function isSmall(column: Column): boolean {
  switch (column.kind) {
    case "variable": {
      if (codesIn(column) !== null || !areNarrow(column.offsets)) return false;
      const { offsets, length } = column;
      for (let row = 0; row < length; row++) if (offsets[row + 1] - offsets[row] > MAX_SMALL) return false;
      return true;
    }
    case "fixed":
      return column.byteWidth <= MAX_SMALL;
    case "bits":
    case "null":
      return true;
    case "list":
      return areListsSmall(column);
  }
  return false;
}

/** Kinds of items that small lists may have. */
const PLAIN: ReadonlySet<Column["kind"]> = new Set(["fixed", "bits", "variable", "null"]);

function areListsSmall({ offsets, items, length }: ListColumn): boolean {
  if (!areNarrow(offsets) || !PLAIN.has(items.kind)) return false;
  const bytesBefore = bytesBeforeValue(items);
  for (let row = 0; row < length; row++) {
    const [start, end] = [offsets[row], offsets[row + 1]];
    if (end - start > MAX_SMALL_ITEMS || bytesBefore(end) - bytesBefore(start) > MAX_SMALL) return false;
  }
  return true;
}

const STEP_ITEMS = 2 ** 14;

function orderInSteps(
  left: Column,
  right: Column,
  type: ValueType,
): (left: number, right: number) => Steps<number> {
  const compare = valueOrderInSteps(left, right, type);
  return function* order(a, b) {
    const isThere = isValid(left.validity, a);
    if (isThere && isValid(right.validity, b)) {
      const order = compare(a, b);
      return typeof order === "number" ? order : yield* order;
    }
    return Number(isThere) - Number(isValid(right.validity, b));
  };
}

function valueOrderInSteps(
  left: Column,
  right: Column,
  type: ValueType,
): (left: number, right: number) => number | Steps<number> {
  switch (type.kind) {
    case "string":
    case "binary": {
      const a = byteLane({ column: left, step: 1 });
      const b = byteLane({ column: right, step: 1 });
      return (i, j) =>
        compareRangesInSteps(
          a.bytes,
          a.offsets[i],
          a.offsets[i + 1],
          b.bytes,
          b.offsets[j],
          b.offsets[j + 1],
        );
    }
    case "list": {
      const a = listLane({ column: left, step: 1 });
      const b = listLane({ column: right, step: 1 });
      const items = new RowOrder(a.items, b.items, type.item);
      return function* order(i, j) {
        const pace = new Pace(STEP_ITEMS);
        let itemA = a.offsets[i];
        let itemB = b.offsets[j];
        for (; itemA < a.offsets[i + 1] && itemB < b.offsets[j + 1]; itemA++, itemB++) {
          const between = items.isLong(itemA, itemB)
            ? yield* items.inSteps(itemA, itemB)
            : items.compare(itemA, itemB);
          if (between !== 0) return between;
          if (pace.isStep(items.work(itemA, itemB))) yield;
        }
        return a.offsets[i + 1] - itemA - (b.offsets[j + 1] - itemB);
      };
    }
    case "struct": {
      if (!("children" in left) || !("children" in right)) return () => 0;
      const orders = type.members.map((member, index) =>
        orderInSteps(left.children[index], right.children[index], member.type),
      );
      return function* order(i, j) {
        for (const member of orders) {
          const between = yield* member(i, j);
          if (between !== 0) return between;
        }
        return 0;
      };
    }
  }
  return rowComparison(left, right, type);
}

/** Orders single values: nulls inside lists and structs equal each other and come first. */
function rowComparison(
  left: Column,
  right: Column,
  type: ValueType,
): (left: number, right: number) => number {
  const compare = valueComparison(left, right, type);
  return (a, b) => {
    const isThere = isValid(left.validity, a);
    if (isThere && isValid(right.validity, b)) return compare(a, b);
    return Number(isThere) - Number(isValid(right.validity, b));
  };
}

function valueComparison(
  left: Column,
  right: Column,
  type: ValueType,
): (left: number, right: number) => number {
  const first: Operand = { column: left, step: 1 };
  const second: Operand = { column: right, step: 1 };
  switch (type.kind) {
    case "null":
    case "other":
      return () => 0;
    case "bool": {
      const a = bitsOf(first, left.length);
      const b = bitsOf(second, right.length);
      return (i, j) => ((a[i >>> 3] >>> (i & 7)) & 1) - ((b[j >>> 3] >>> (j & 7)) & 1);
    }
    case "string":
    case "binary":
    case "fixedSizeBinary": {
      const a = byteLane(first);
      const b = byteLane(second);
      return (i, j) =>
        compareRanges(a.bytes, a.offsets[i], a.offsets[i + 1], b.bytes, b.offsets[j], b.offsets[j + 1]);
    }
    case "list": {
      const a = listLane(first);
      const b = listLane(second);
      const compare = rowComparison(a.items, b.items, type.item);
      return (i, j) => {
        let aIndex = a.offsets[i];
        let bIndex = b.offsets[j];
        for (; aIndex < a.offsets[i + 1] && bIndex < b.offsets[j + 1]; aIndex++, bIndex++) {
          const order = compare(aIndex, bIndex);
          if (order !== 0) return order;
        }
        return a.offsets[i + 1] - aIndex - (b.offsets[j + 1] - bIndex);
      };
    }
    case "struct": {
      if (!("children" in left) || !("children" in right)) return () => 0;
      const compares = type.members.map((member, index) =>
        rowComparison(left.children[index], right.children[index], member.type),
      );
      return (i, j) => {
        for (const compare of compares) {
          const order = compare(i, j);
          if (order !== 0) return order;
        }
        return 0;
      };
    }
    default: {
      const width = byteWidthOf(type);
      if (type.kind === "float" || width <= 4) {
        const a = numbersOf(first, type);
        const b = numbersOf(second, type);
        return (i, j) => orderNumbers(a[i], b[j]);
      }
      const a = wordLane(first);
      const b = wordLane(second);
      const words = width / 4;
      const flip = type.kind === "int" && !type.signed ? -0x8000_0000 : 0;
      return (i, j) => {
        const aIndex = i * words;
        const bIndex = j * words;
        const high = a[aIndex + words - 1] ^ flip;
        const otherHigh = b[bIndex + words - 1] ^ flip;
        if (high !== otherHigh) return high < otherHigh ? -1 : 1;
        for (let word = words - 2; word >= 0; word--) {
          const difference = (a[aIndex + word] >>> 0) - (b[bIndex + word] >>> 0);
          if (difference !== 0) return difference;
        }
        return 0;
      };
    }
  }
}

function orderNumbers(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
}
