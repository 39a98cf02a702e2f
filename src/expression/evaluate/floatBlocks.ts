/**
 * Computes trees of float arithmetic block by block: all intermediate results of a block stay in the
 * processor's cache, and only the result takes memory.
 */

import type { Column, FixedColumn, Validity } from "../../arrow/columns/column.js";
import { bothValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { unfilledBytes } from "../../platform/native.js";
import { type AllocateResult, type NumberLane, numbersOf, wordLane } from "../values/operands.js";
import { FLOAT64, type ValueType } from "../values/types.js";
import type { Bound, BoundCall, FloatOperator } from "./bound.js";

const BLOCK = 2048;
/** Blocks that are computed in one step. */
const STEP_BLOCKS = 256;
/** From this number of rows on, a call is a step. */
const STEP_ROWS = 4096;

/** Returns the first `count` values of a block, from row `start` on. */
type ReadBlock = (start: number, count: number) => Float64Array;

/** Returns the trait of a call of floats; empty if another function computes an operand. */
export const floatTrait = (operator: FloatOperator, operands: readonly Bound[]): Pick<BoundCall, "floats"> =>
  operands.every((operand) => (operator === "cast" ? isNumberColumn(operand) : isFloatTree(operand)))
    ? { floats: operator }
    : {};

const isFloatTree = (node: Bound): boolean =>
  node.kind === "call" ? node.floats !== undefined : isFloat64(node.type) && node.kind !== "case";

/** True for a column of numbers that become floats of 64 bits. */
const isNumberColumn = ({ kind, type }: Bound): boolean =>
  kind === "column" && (type.kind === "int" || (type.kind === "float" && type.bits === 32));

const isFloat64 = (type: ValueType): boolean => type.kind === "float" && type.bits === 64;

/**
 * Computes a call with {@link BoundCall.floats}; null if a column is not plain.
 * @param allocate makes the memory of the result. Default: new memory
 */
export function* floatsOf(
  call: BoundCall,
  { columns, rowCount }: { readonly columns: readonly Column[]; readonly rowCount: number },
  allocate: AllocateResult = unfilledBytes,
): Steps<FixedColumn | null> {
  const blocks = new FloatBlocks(columns, rowCount);
  const read = blocks.reader(call);
  if (read === null) return null;
  const values = allocate(8 * rowCount);
  const floats = new Float64Array(values.buffer, values.byteOffset, rowCount);
  const pace = new Pace(STEP_BLOCKS);
  for (let start = 0; start < rowCount; start += BLOCK) {
    const count = Math.min(BLOCK, rowCount - start);
    const block = read(start, count);
    floats.set(block.length === count ? block : block.subarray(0, count), start);
    if (pace.isStep(blocks.size)) yield;
  }
  if (rowCount >= STEP_ROWS) yield;
  return { kind: "fixed", length: rowCount, validity: blocks.validity, byteWidth: 8, values };
}

class FloatBlocks {
  readonly #columns: readonly Column[];
  readonly #rowCount: number;
  readonly #blockRows: number;
  /** Rows in which no column is null. */
  validity: Validity | null = null;
  /** Number of operations. */
  size = 1;

  constructor(columns: readonly Column[], rowCount: number) {
    this.#columns = columns;
    this.#rowCount = rowCount;
    this.#blockRows = Math.min(BLOCK, rowCount);
  }

  /** Returns the reader of a node's values; null if it has none. */
  reader(node: Bound): ReadBlock | null {
    if (node.kind === "constant") {
      if (node.column.kind !== "fixed" || node.column.validity !== null) return null;
      const block = new Float64Array(this.#blockRows).fill(
        numbersOf({ column: node.column, step: 0 }, FLOAT64)[0],
      );
      return () => block;
    }
    if (node.kind === "column") {
      const column = this.#open(node.index);
      if (column === null) return null;
      const lane = numbersOf({ column, step: 1 }, FLOAT64) as Float64Array;
      return (start, count) => lane.subarray(start, start + count);
    }
    if (node.kind !== "call" || node.floats === undefined) return null;
    this.size++;
    const [left, right] = node.operands;
    if (node.floats === "cast") return left.kind === "column" ? this.#cast(left.index, left.type) : null;
    const [a, b] = [this.reader(left), this.reader(right)];
    if (a === null || b === null) return null;
    const combine = LOOPS[node.floats];
    const block = new Float64Array(this.#blockRows);
    return (start, count) => {
      combine(a(start, count), b(start, count), block, count);
      return block;
    };
  }

  #cast(index: number, type: ValueType): ReadBlock | null {
    const column = this.#open(index);
    if (column === null) return null;
    const block = new Float64Array(this.#blockRows);
    if (type.kind === "int" && type.bits === 64) {
      const words = wordLane({ column, step: 1 });
      const { signed } = type;
      return (start, count) => {
        widenWords(words, start, block, count, signed);
        return block;
      };
    }
    const lane = numbersOf({ column, step: 1 }, type);
    return (start, count) => {
      widen(lane, start, block, count);
      return block;
    };
  }

  #open(index: number): FixedColumn | null {
    const column = this.#columns[index];
    if (column.kind !== "fixed") return null;
    this.validity = bothValid(this.validity, column.validity, this.#rowCount);
    return column;
  }
}

type Loop = (a: Float64Array, b: Float64Array, result: Float64Array, count: number) => void;

const LOOPS: Readonly<Record<Exclude<FloatOperator, "cast">, Loop>> = {
  "+": (a, b, result, count) => {
    for (let row = 0; row < count; row++) result[row] = a[row] + b[row];
  },
  "-": (a, b, result, count) => {
    for (let row = 0; row < count; row++) result[row] = a[row] - b[row];
  },
  "*": (a, b, result, count) => {
    for (let row = 0; row < count; row++) result[row] = a[row] * b[row];
  },
  "/": (a, b, result, count) => {
    for (let row = 0; row < count; row++) result[row] = a[row] / b[row];
  },
};

function widen(lane: NumberLane, start: number, result: Float64Array, count: number): void {
  for (let row = 0; row < count; row++) result[row] = lane[start + row];
}

/** Widens integers of 64 bits, which are rounded once. */
function widenWords(
  words: Int32Array,
  start: number,
  result: Float64Array,
  count: number,
  signed: boolean,
): void {
  for (let row = 0; row < count; row++) {
    const low = words[2 * (start + row)] >>> 0;
    const high = words[2 * (start + row) + 1];
    result[row] = (signed ? high : high >>> 0) * 2 ** 32 + low;
  }
}
