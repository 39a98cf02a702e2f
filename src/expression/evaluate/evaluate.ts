/**
 * Runs expressions over batches, column by column. A strict function of one dictionary column runs once per
 * value of the dictionary. An expression runs once if each of its columns has only one value, as a page of
 * one value has. AND and OR stop at the first operand that decides all rows. CASE computes each branch only
 * for the rows that take it.
 */

import type { Column, DictionaryColumn, Validity } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { dictionaryValidity, plainColumn, readIndices } from "../../arrow/columns/dictionaries.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { bothValid, isValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { copyBits, positionsOfOnes } from "../../bytes/bits.js";
import { takeWhere } from "../kernels/choice.js";
import { lookUpInChunks } from "../kernels/compareChunks.js";
import { Combination, nullTest, truesOf } from "../kernels/logic.js";
import { bytesBeforeValue, estimatedBytes, takeBounded } from "../values/boundedTake.js";
import { type AllocateResult, bitsColumn, bitsOf, madeBy, type Operand } from "../values/operands.js";
import { nullsOf } from "../values/scalars.js";
import type { Bound, BoundCall, BoundCase, ColumnReference, Constant } from "./bound.js";
import { floatsOf } from "./floatBlocks.js";

const STEP_OPERANDS = 64;
const STEP_BRANCHES = 16;

/** Maximum number of bytes of a constant that is repeated for each row. Offsets have 32 bits. */
const MAX_REPEATED = 2 ** 31 - 1;

/** The columns of a batch that an expression needs, in its order. */
export interface Inputs {
  readonly columns: readonly Column[];
  readonly rowCount: number;
}

/** @param allocate makes the memory of floats, or of texts that are joined. Default: new memory */
export function* evaluate(node: Bound, inputs: Inputs, allocate?: AllocateResult): Steps<Column> {
  const parts = partsOf(inputs);
  if (parts.length === 1) return yield* evaluatePart(node, inputs, allocate);
  const columns: Column[] = [];
  for (const part of parts) columns.push(yield* evaluatePart(node, part));
  return yield* concatInSteps(columns.map(plainColumn));
}

function* evaluatePart(node: Bound, inputs: Inputs, allocate?: AllocateResult): Steps<Column> {
  const { column, step } = yield* run(node, inputs, allocate);
  return step === 1 ? column : yield* takeBounded(column, new Uint32Array(inputs.rowCount), MAX_REPEATED);
}

/** Returns a bit for each row: one if the condition is true. Bits after the last row are arbitrary. */
export function* testRows(condition: Bound, inputs: Inputs): Steps<Uint8Array> {
  const parts = partsOf(inputs);
  if (parts.length === 1) return truesOf(yield* run(condition, inputs), inputs.rowCount);
  const bits = new Uint8Array((inputs.rowCount + 7) >>> 3);
  let first = 0;
  for (const part of parts) {
    copyBits(truesOf(yield* run(condition, part), part.rowCount), 0, bits, first, part.rowCount);
    first += part.rowCount;
  }
  return bits;
}

/** Splits a batch into parts of bounded size, so that steps are short. A larger row is a part of its own. */
function partsOf(inputs: Inputs): readonly Inputs[] {
  const { columns, rowCount } = inputs;
  const sizes = columns.map((column) => estimatedBytes(column));
  const byteLength = sizes.reduce((sum, size) => sum + size, 0);
  if (rowCount < 2 || byteLength <= MAX_PART_BYTES) return [inputs];
  const bytesBefore = columns.map(bytesBeforeValue);
  const parts: Inputs[] = [];
  for (let first = 0; first < rowCount; ) {
    let end = first;
    let partBytes = 0;
    while (end < rowCount) {
      for (const before of bytesBefore) partBytes += before(end + 1) - before(end);
      if (partBytes > PART_BYTES && end > first) break;
      end++;
    }
    const count = end - first;
    const start = first;
    parts.push({ columns: columns.map((column) => sliceColumn(column, start, count)), rowCount: count });
    first = end;
  }
  return parts;
}

/** Maximum number of bytes of a batch that is not split, and of a part. */
const MAX_PART_BYTES = 2 ** 24;
const PART_BYTES = 2 ** 22;

/** @param allocate makes the memory of the last call's result. Default: new memory */
function* run(node: Bound, inputs: Inputs, allocate?: AllocateResult): Steps<Operand> {
  switch (node.kind) {
    case "constant":
    case "column":
      return leaf(node, inputs);
    case "call": {
      if (node.floats !== undefined) {
        const floats = yield* floatsOf(node, inputs, allocate);
        if (floats !== null) return { column: floats, step: 1 };
      }
      if (node.takesFirst === true && node.operands.slice(1).some(isComputed)) {
        return yield* call(node, yield* neededOperands(node, inputs), inputs.rowCount);
      }
      const operands: Operand[] = [];
      for (const operand of node.operands) operands.push(yield* operandInSteps(operand, inputs));
      return yield* call(node, operands, inputs.rowCount, allocate);
    }
    case "nullTest": {
      const { column, step } = yield* operandInSteps(node.operand, inputs);
      const rowCount = step === 0 ? 1 : inputs.rowCount;
      return { column: nullTest(validityOf(column), node.isNegated, rowCount), step };
    }
    case "case":
      return { column: yield* branch(node, inputs), step: 1 };
    case "and":
    case "or": {
      const combination = new Combination(node.kind, inputs.rowCount);
      const pace = new Pace(STEP_OPERANDS);
      let neutral: Operand | null = null;
      let isCombined = false;
      for (const part of node.operands) {
        const operand = yield* operandInSteps(part, inputs);
        const truth = operand.step === 0 ? oneTruth(operand) : null;
        if (truth === null) {
          combination.add(operand);
          isCombined = true;
          if (combination.isDecided) break;
        } else if (truth === (node.kind === "or")) return operand;
        else neutral = operand;
        if (pace.isStep()) yield;
      }
      if (!isCombined && neutral !== null) return neutral;
      return { column: combination.column(), step: 1 };
    }
  }
}

const isComputed = (node: Bound): boolean => node.kind !== "constant" && node.kind !== "column";

/**
 * Computes the operands of a call that returns the first non-null one: each only for rows without an earlier
 * value.
 */
function* neededOperands(node: BoundCall, inputs: Inputs): Steps<Operand[]> {
  const { rowCount } = inputs;
  const operands: Operand[] = [];
  /** Rows in which all operands so far are null. */
  let rows = allRows(rowCount);
  for (const part of node.operands) {
    if (rows.length === 0) break;
    const isWhole = rows.length === rowCount || !isComputed(part);
    let operand = yield* operandInSteps(part, isWhole ? inputs : inputsOf(inputs, rows));
    if (!isWhole) {
      const { column, step } = operand;
      const indices = new Uint32Array(rowCount);
      for (const [position, row] of rows.entries()) indices[row] = position * step;
      operand = { column: takeColumn(plainColumn(column), indices), step: 1 };
    }
    operands.push(operand);
    const { column, step } = operand;
    const validity = validityOf(column);
    if (column.kind === "null") continue;
    let count = 0;
    for (const row of rows) if (!isValid(validity, row * step)) rows[count++] = row;
    rows = rows.slice(0, count);
  }
  return operands;
}

function allRows(rowCount: number): Uint32Array<ArrayBuffer> {
  const rows = new Uint32Array(rowCount);
  for (let row = 0; row < rowCount; row++) rows[row] = row;
  return rows;
}

/** Takes some rows, which ascend, of a batch. */
function inputsOf(inputs: Inputs, rows: Uint32Array): Inputs {
  if (rows.length === inputs.rowCount) return inputs;
  return { columns: inputs.columns.map((column) => takeColumn(column, rows)), rowCount: rows.length };
}

/** Computes an operand. A leaf is computed in one step. */
function* operandInSteps(node: Bound, inputs: Inputs): Steps<Operand> {
  return node.kind === "constant" || node.kind === "column" ? leaf(node, inputs) : yield* run(node, inputs);
}

function leaf(node: Constant | ColumnReference, { columns }: Inputs): Operand {
  if (node.kind === "constant") return { column: node.column, step: 0 };
  const column = columns[node.index];
  return column.kind === "dictionary" && isOneValue(column)
    ? { column: column.dictionary, step: 0 }
    : { column, step: 1 };
}

/** True if all rows have the only value of a dictionary. A damaged file may have any indices. */
function isOneValue({ dictionary, indices, validity }: DictionaryColumn): boolean {
  if (dictionary.length !== 1 || validity !== null || indices.byteWidth !== 1 || !isThere(dictionary))
    return false;
  const { values } = indices;
  for (let offset = 0; offset < indices.length; offset++) if (values[offset] !== 0) return false;
  return true;
}

/** Returns the truth of a condition that is the same in all rows; null if it is unknown. */
const oneTruth = ({ column }: Operand): boolean | null =>
  isThere(column) ? (bitsOf({ column, step: 1 }, 1)[0] & 1) === 1 : null;

/** True if the value of a column of one value is not null. */
const isThere = (column: Column): boolean => column.kind !== "null" && isValid(column.validity, 0);

function validityOf(column: Column): Validity | null {
  if (column.kind === "dictionary") return dictionaryValidity(column);
  if (column.kind !== "null") return column.validity;
  return { bytes: new Uint8Array((column.length + 7) >>> 3), bitOffset: 0, nullCount: column.length };
}

function* call(
  node: BoundCall,
  operands: readonly Operand[],
  rowCount: number,
  allocate?: AllocateResult,
): Steps<Operand> {
  if (rowCount === 0) return { column: nullsOf(node.type, 0), step: 1 };
  const varying = operands.filter(({ step }) => step === 1);
  const isOnce = varying.length === 0 && node.isVolatile !== true;
  const column = isOnce
    ? yield* callOnce(node, operands)
    : yield* callPerRow(node, operands, varying, rowCount, allocate);
  if (rowCount >= STEP_ROWS) yield;
  return { column, step: isOnce ? 0 : 1 };
}

/** From this number of rows on, a call is a step. */
const STEP_ROWS = 4096;

/** Returns the only result for operands that have one value each. */
function* callOnce(node: BoundCall, operands: readonly Operand[]): Steps<Column> {
  if (node.isStrict && operands.some(({ column }) => !isThere(column))) return nullsOf(node.type, 1);
  const result = yield* madeBy(node.kernel(operands.map(plain), 1, null));
  if (!isThere(result)) return nullsOf(node.type, 1);
  // The result is not null, so it needs no validity. Constants have none.
  return { ...result, validity: null } as Column;
}

function* callPerRow(
  node: BoundCall,
  operands: readonly Operand[],
  varying: readonly Operand[],
  rowCount: number,
  allocate?: AllocateResult,
): Steps<Column> {
  if (!node.isStrict) return yield* madeBy(node.kernel(operands.map(plain), rowCount, null, allocate));
  // A constant operand of a strict call is never null, but the one value of a column may be.
  if (operands.some(({ column, step }) => step === 0 && !isThere(column)))
    return nullsOf(node.type, rowCount);
  const [only] = varying;
  if (varying.length === 1 && only.column.kind === "dictionary" && isWorthwhile(only.column)) {
    return yield* callPerValue(node, operands, only.column);
  }
  return yield* callStrictly(node, operands.map(plain), rowCount);
}

const plain = ({ column, step }: Operand): Operand => ({ column: plainColumn(column), step });

/** True if a dictionary has no more values than the column has rows. */
const isWorthwhile = ({ dictionary, length }: DictionaryColumn): boolean =>
  dictionary.length > 0 && dictionary.length <= length;

function* callPerValue(
  node: BoundCall,
  operands: readonly Operand[],
  column: DictionaryColumn,
): Steps<Column> {
  const { dictionary } = column;
  const values = operands.map(
    (operand): Operand => (operand.step === 0 ? operand : { column: dictionary, step: 1 }),
  );
  const ofAll = column.indices.lazy === undefined ? null : yield* callOnAll(node, values, dictionary.length);
  const bits = ofAll === null ? null : lookUpTruth(ofAll, column);
  if (bits !== null) return bits;
  const indices = readIndices(column);
  const results =
    ofAll ?? (yield* callStrictly(node, values, dictionary.length, usedValues(column, indices)));
  const result = yield* takeBounded(results, indices, MAX_REPEATED);
  if (result.kind === "null") return result;
  return { ...result, validity: bothValid(result.validity, column.validity, column.length) } as Column;
}

/** Returns the results of all values of a dictionary; null if one fails, because it may be in no row. */
function* callOnAll(node: BoundCall, values: readonly Operand[], size: number): Steps<Column | null> {
  try {
    return yield* callStrictly(node, values, size);
  } catch {
    return null;
  }
}

/**
 * Returns for each row if the condition holds for its dictionary value; null if that must be looked up by
 * index.
 */
function lookUpTruth(results: Column, column: DictionaryColumn): Column | null {
  if (results.kind !== "bits" || results.validity !== null) return null;
  const bits = lookUpInChunks(column, bitsOf({ column: results, step: 1 }, results.length));
  return bits === null ? null : bitsColumn(bits, column.length, column.validity);
}

/** Returns the values of a dictionary that a row has. The function must not fail on any other value. */
function usedValues(column: DictionaryColumn, indices: Uint32Array): Validity | null {
  const { length, dictionary, validity } = column;
  const bytes = new Uint8Array((dictionary.length + 7) >>> 3);
  let count = 0;
  // Most batches use all values within a few rows.
  for (let row = 0; row < length && count < dictionary.length; row++) {
    const index = indices[row];
    if ((bytes[index >>> 3] >>> (index & 7)) & 1 || !isValid(validity, row)) continue;
    bytes[index >>> 3] |= 1 << (index & 7);
    count++;
  }
  return count === dictionary.length ? null : { bytes, bitOffset: 0, nullCount: dictionary.length - count };
}

function* callStrictly(
  node: BoundCall,
  operands: readonly Operand[],
  rowCount: number,
  used: Validity | null = null,
): Steps<Column> {
  let valid = used;
  for (const { column, step } of operands) {
    if (step === 1) valid = bothValid(valid, validityOf(column), rowCount);
  }
  if (valid !== null && valid.nullCount === rowCount) return nullsOf(node.type, rowCount);
  return yield* madeBy(node.kernel(operands, rowCount, valid));
}

function* branch(node: BoundCase, inputs: Inputs): Steps<Column> {
  const pace = new Pace(STEP_BRANCHES);
  const { rowCount } = inputs;
  const results: Column[] = [];
  let base = 0;
  /** For each row, the index of its value among all results. */
  const indices = new Uint32Array(rowCount);
  let rows = allRows(rowCount);
  function* assign(result: Bound, rows: Uint32Array): Steps<void> {
    const { column, step } = yield* run(result, inputsOf(inputs, rows));
    for (let index = 0; index < rows.length; index++) indices[rows[index]] = base + index * step;
    base += column.length;
    results.push(plainColumn(column));
  }
  for (const { when, result } of node.branches) {
    if (rows.length === 0) break;
    if (pace.isStep()) yield;
    const tested = inputsOf(inputs, rows);
    const selected = positionsOfOnes(yield* testRows(when, tested), tested.rowCount);
    const { takenRows, left } = split(rows, selected);
    if (takenRows.length === 0) continue;
    yield* assign(result, takenRows);
    rows = left;
  }
  if (rows.length > 0) yield* assign(node.otherwise, rows);
  if (results.length === 0) return nullsOf(node.type, rowCount);
  const validBits = new Uint8Array((rowCount + 7) >>> 3).fill(0xff);
  return yield* takeWhere(yield* concatInSteps(results), indices, validBits, node.type);
}

/** Splits rows into those at the given ascending positions and the others; null for all positions. */
function split(
  rows: Uint32Array<ArrayBuffer>,
  positions: Uint32Array | null,
): { readonly takenRows: Uint32Array<ArrayBuffer>; readonly left: Uint32Array<ArrayBuffer> } {
  if (positions === null) return { takenRows: rows, left: new Uint32Array(0) };
  const takenRows = new Uint32Array(positions.length);
  const left = new Uint32Array(rows.length - positions.length);
  let takenCount = 0;
  let leftCount = 0;
  for (let index = 0; index < rows.length; index++) {
    if (takenCount < takenRows.length && positions[takenCount] === index)
      takenRows[takenCount++] = rows[index];
    else left[leftCount++] = rows[index];
  }
  return { takenRows, left };
}
