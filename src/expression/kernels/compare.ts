/**
 * Compares columns of one type. Floats have a total order, in which NaN equals NaN and is greater than all
 * numbers; both zeros are equal. Texts and bytes compare byte by byte, which for UTF-8 is the order of code
 * points.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { FloatType } from "../../arrow/types/type.js";
import type { Steps } from "../../async/eventLoop.js";
import { compareRanges } from "../../bytes/compare.js";
import type { ComparisonOperator } from "../parse/syntax.js";
import {
  bitsColumn,
  bitsOf,
  byteLane,
  numbersOf,
  type Operand,
  type ValueKernel,
  wordLane,
} from "../values/operands.js";
import { byteWidthOf, type ValueType } from "../values/types.js";
import { loopInSteps, ROW_WORK, STEP_SCANNED } from "../values/work.js";
import { relateChunksToOne } from "./compareChunks.js";
import { compareInKernel } from "./compareKernel.js";
import { beside, compareNumber, type NumberRelation } from "./compareNumber.js";
import { compareRangesInSteps, fits, TextQuestions } from "./compareText.js";
import { RowOrder, SMALL_WORK } from "./rowOrder.js";

type Relation = NumberRelation;

/** Returns the comparison of two operands of `type`. */
export function comparison(operator: ComparisonOperator, type: ValueType): ValueKernel {
  const [relation, isSwapped, isNegated] = RELATIONS[operator];
  const questions = new TextQuestions();
  const finish = (bits: Uint8Array, length: number, valid: Validity | null): Column => {
    if (isNegated) for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
    return bitsColumn(bits, length, valid);
  };
  function* inSteps(left: Operand, right: Operand, length: number, valid: Validity | null): Steps<Column> {
    const asked = yield* questions.ask(relation, left, right, length, valid);
    if (asked !== null) return finish(asked, length, valid);
    const bits =
      type.kind === "list" || type.kind === "struct"
        ? yield* relateNested(relation, left, right, type, length, valid)
        : yield* relateBytes(relation, left, right, length);
    return finish(bits, length, valid);
  }
  return ([left, right], length, valid) => {
    const first = isSwapped ? right : left;
    const second = isSwapped ? left : right;
    return UNSIZED.has(type.kind)
      ? inSteps(first, second, length, valid)
      : finish(relate(relation, first, second, type, length), length, valid);
  };
}

/** Kinds of types whose values may be long. */
const UNSIZED: ReadonlySet<ValueType["kind"]> = new Set([
  "string",
  "binary",
  "fixedSizeBinary",
  "list",
  "struct",
]);

const RELATIONS: Readonly<Record<ComparisonOperator, readonly [Relation, boolean, boolean]>> = {
  "=": ["equal", false, false],
  "!=": ["equal", false, true],
  "<": ["less", false, false],
  "<=": ["atMost", false, false],
  ">": ["less", true, false],
  ">=": ["atMost", true, false],
};

function relate(
  relation: Relation,
  left: Operand,
  right: Operand,
  type: ValueType,
  length: number,
): Uint8Array {
  switch (type.kind) {
    case "null":
    case "other":
      return new Uint8Array((length + 7) >>> 3);
    case "bool":
      return relateBits(relation, bitsOf(left, length), bitsOf(right, length));
    default: {
      const stored = relateChunksToOne(relation, left, right, type, length);
      if (stored !== null) return stored;
      const width = byteWidthOf(type);
      if (type.kind === "float" || width <= 4) {
        const beside = relateToOne(relation, left, right, type, length);
        if (beside !== null) return beside;
      }
      if (type.kind === "float") return relateFloats(relation, left, right, type, length);
      if (width <= 4) return relateNumbers(relation, left, right, type, length);
      if (width > 8) return relateWords(relation, left, right, width / 4, length);
      const isSigned = type.kind !== "int" || type.signed;
      return (
        relatePairsToOne(relation, left, right, isSigned, length) ??
        relatePairs(relation, left, right, isSigned, length)
      );
    }
  }
}

/** Compares numbers with a constant that is not NaN, on either side; null for other operands. */
function relateToOne(
  relation: Relation,
  left: Operand,
  right: Operand,
  type: ValueType,
  length: number,
): Uint8Array | null {
  if (left.step === right.step) return null;
  const isRight = right.step === 0;
  const number = numbersOf(isRight ? right : left, type)[0];
  if (Number.isNaN(number)) return null;
  const values = numbersOf(isRight ? left : right, type);
  return beside(relation, isRight, (turned) => compareNumber(turned, values, number, length));
}

function relateBits(relation: Relation, left: Uint8Array, right: Uint8Array): Uint8Array {
  const bits = new Uint8Array(Math.min(left.length, right.length));
  for (let byte = 0; byte < bits.length; byte++) {
    const a = left[byte];
    const b = right[byte];
    bits[byte] = relation === "equal" ? ~(a ^ b) : relation === "less" ? ~a & b : ~a | b;
  }
  return bits;
}

function relateNumbers(
  relation: Relation,
  left: Operand,
  right: Operand,
  type: ValueType,
  length: number,
): Uint8Array {
  const [a, stepA] = [numbersOf(left, type), left.step];
  const [b, stepB] = [numbersOf(right, type), right.step];
  const bits = new Uint8Array((length + 7) >>> 3);
  let aIndex = 0;
  let bIndex = 0;
  for (let row = 0, byte = 0; row < length; byte++) {
    let packed = 0;
    const end = Math.min(length - row, 8);
    if (relation === "less") {
      for (let bit = 0; bit < end; bit++, aIndex += stepA, bIndex += stepB)
        if (a[aIndex] < b[bIndex]) packed |= 1 << bit;
    } else if (relation === "atMost") {
      for (let bit = 0; bit < end; bit++, aIndex += stepA, bIndex += stepB)
        if (a[aIndex] <= b[bIndex]) packed |= 1 << bit;
    } else {
      for (let bit = 0; bit < end; bit++, aIndex += stepA, bIndex += stepB)
        if (a[aIndex] === b[bIndex]) packed |= 1 << bit;
    }
    bits[byte] = packed;
    row += 8;
  }
  return bits;
}

/** Compares floats. JavaScript compares NaN as false, so only a NaN on the right changes the result. */
function relateFloats(
  relation: Relation,
  left: Operand,
  right: Operand,
  type: FloatType,
  length: number,
): Uint8Array {
  const bits = relateNumbers(relation, left, right, type, length);
  const [a, stepA] = [numbersOf(left, type), left.step];
  const [b, stepB] = [numbersOf(right, type), right.step];
  if (stepB === 0 && !Number.isNaN(b[0])) return bits;
  for (let row = 0, aIndex = 0, bIndex = 0; row < length; row++, aIndex += stepA, bIndex += stepB) {
    if (!Number.isNaN(b[bIndex])) continue;
    if (relation === "atMost" || (relation === "equal") === Number.isNaN(a[aIndex]))
      bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

/** Compares many integers of 64 bits with a constant, on either side; null for other operands. */
function relatePairsToOne(
  relation: Relation,
  left: Operand,
  right: Operand,
  isSigned: boolean,
  length: number,
): Uint8Array | null {
  if (left.step === right.step || !(isSigned || relation === "equal")) return null;
  const isRight = right.step === 0;
  const values = wordLane(isRight ? left : right);
  const number = wordLane(isRight ? right : left).slice(0, 2);
  const bits = new Uint8Array((length + 7) >>> 3);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, length * 8);
  return beside(relation, isRight, (turned) =>
    compareInKernel("i64x2", turned, bytes, new Uint8Array(number.buffer), bits) ? bits : null,
  );
}

/** Compares integers of 64 bits, which are pairs of words. */
function relatePairs(
  relation: Relation,
  left: Operand,
  right: Operand,
  isSigned: boolean,
  length: number,
): Uint8Array {
  const [a, stepA] = [wordLane(left), 2 * left.step];
  const [b, stepB] = [wordLane(right), 2 * right.step];
  const bits = new Uint8Array((length + 7) >>> 3);
  // With its highest bit inverted, an unsigned word compares like a signed one.
  const flip = isSigned ? 0 : -0x8000_0000;
  const orEqual = relation === "atMost";
  if (relation === "equal") {
    for (let row = 0, aIndex = 0, bIndex = 0; row < length; row++, aIndex += stepA, bIndex += stepB) {
      if (a[aIndex] === b[bIndex] && a[aIndex + 1] === b[bIndex + 1]) bits[row >>> 3] |= 1 << (row & 7);
    }
    return bits;
  }
  for (let row = 0, aIndex = 0, bIndex = 0; row < length; row++, aIndex += stepA, bIndex += stepB) {
    const high = a[aIndex + 1] ^ flip;
    const otherHigh = b[bIndex + 1] ^ flip;
    if (high > otherHigh) continue;
    if (high === otherHigh) {
      const low = a[aIndex] >>> 0;
      const otherLow = b[bIndex] >>> 0;
      if (low > otherLow || (low === otherLow && !orEqual)) continue;
    }
    bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

/** Compares signed integers of many words. */
function relateWords(
  relation: Relation,
  left: Operand,
  right: Operand,
  width: number,
  length: number,
): Uint8Array {
  const [a, b] = [wordLane(left), wordLane(right)];
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let row = 0; row < length; row++) {
    const aIndex = row * left.step * width;
    const bIndex = row * right.step * width;
    let order = Math.sign(a[aIndex + width - 1] - b[bIndex + width - 1]);
    for (let word = width - 2; order === 0 && word >= 0; word--) {
      order = Math.sign((a[aIndex + word] >>> 0) - (b[bIndex + word] >>> 0));
    }
    if (fits(relation, order)) bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

function* relateBytes(relation: Relation, left: Operand, right: Operand, length: number): Steps<Uint8Array> {
  const a = byteLane(left);
  const b = byteLane(right);
  const bits = new Uint8Array((length + 7) >>> 3);
  const [stepA, stepB] = [left.step, right.step];
  const isEquality = relation === "equal";
  const compareRows = (first: number): number => {
    const { bytes, offsets } = a;
    const { bytes: otherBytes, offsets: otherOffsets } = b;
    let budget = STEP_SCANNED;
    for (let row = first; row < length; row++) {
      const start = offsets[row * stepA];
      const end = offsets[row * stepA + 1];
      const otherStart = otherOffsets[row * stepB];
      const otherEnd = otherOffsets[row * stepB + 1];
      budget -= ROW_WORK;
      if (isEquality && end - start !== otherEnd - otherStart) {
        if (budget < 0) return row;
        continue;
      }
      budget -= Math.min(end - start, otherEnd - otherStart);
      if (budget < 0) return row;
      const order = compareRanges(bytes, start, end, otherBytes, otherStart, otherEnd);
      if (fits(relation, order)) bits[row >>> 3] |= 1 << (row & 7);
    }
    return length;
  };
  yield* loopInSteps(length, compareRows, function* compareRow(row) {
    const [start, end] = [a.offsets[row * stepA], a.offsets[row * stepA + 1]];
    const [otherStart, otherEnd] = [b.offsets[row * stepB], b.offsets[row * stepB + 1]];
    if (isEquality && end - start !== otherEnd - otherStart) return;
    const order = yield* compareRangesInSteps(a.bytes, start, end, b.bytes, otherStart, otherEnd);
    if (fits(relation, order)) bits[row >>> 3] |= 1 << (row & 7);
  });
  return bits;
}

function* relateNested(
  relation: Relation,
  left: Operand,
  right: Operand,
  type: ValueType,
  length: number,
  valid: Validity | null,
): Steps<Uint8Array> {
  const rows = new RowOrder(left.column, right.column, type);
  const bits = new Uint8Array((length + 7) >>> 3);
  const [stepA, stepB] = [left.step, right.step];
  const { compare, isSmall } = rows;
  const compareRows = (first: number): number => {
    let work = 0;
    for (let row = first; row < length; row++) {
      if (!isValid(valid, row)) continue;
      work += isSmall ? SMALL_WORK : rows.work(row * stepA, row * stepB);
      if (work > STEP_WORK) return row;
      if (fits(relation, compare(row * stepA, row * stepB))) bits[row >>> 3] |= 1 << (row & 7);
    }
    return length;
  };
  yield* loopInSteps(length, compareRows, function* compareRow(row) {
    if (fits(relation, yield* rows.inSteps(row * stepA, row * stepB))) bits[row >>> 3] |= 1 << (row & 7);
  });
  return bits;
}

const STEP_WORK = 2 ** 14;
