/**
 * Compares columns of one type. Floats have a total order in which NaN equals NaN and is greater than all numbers;
 * zeros are equal whatever their sign. Text and bytes compare byte by byte, which for UTF-8 is the order of code points.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { compareRanges } from "../../bytes/compare.js";
import type { ComparisonOperator } from "../parse/syntax.js";
import {
  bitsColumn,
  bitsOf,
  byteLane,
  type NumberLane,
  numbersOf,
  type Operand,
  type ValueKernel,
  wordLane,
} from "../values/operands.js";
import { listLane } from "../values/scalars.js";
import { byteWidthOf, type ValueType } from "../values/types.js";
import { relateChunksToOne } from "./compareChunks.js";
import { compareInKernel } from "./compareKernel.js";
import { beside, compareNumber, type NumberRelation } from "./compareNumber.js";
import { TextQuestions } from "./compareText.js";

/** Which bits a loop sets. */
type Relation = NumberRelation;

/** The comparison of two operands of `type`. */
export function comparison(operator: ComparisonOperator, type: ValueType): ValueKernel {
  const [relation, isSwapped, isNegated] = RELATIONS[operator];
  const questions = new TextQuestions();
  return ([left, right], length, valid) => {
    const first = isSwapped ? right : left;
    const second = isSwapped ? left : right;
    const bits =
      questions.ask(relation, first, second, length, valid) ??
      relate(relation, first, second, type, length, valid);
    if (isNegated) for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
    return bitsColumn(bits, length, valid);
  };
}

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
  valid: Validity | null,
): Uint8Array {
  switch (type.kind) {
    case "null":
    case "other":
      return new Uint8Array((length + 7) >>> 3);
    case "bool":
      return relateBits(relation, bitsOf(left, length), bitsOf(right, length));
    case "string":
    case "binary":
    case "fixedSizeBinary":
      return relation === "equal"
        ? equalBytes(left, right, length)
        : orderBytes(relation, left, right, length);
    case "list":
    case "struct":
      return relateNested(relation, left, right, type, length, valid);
    default: {
      const stored = relateChunksToOne(relation, left, right, type, length);
      if (stored !== null) return stored;
      const width = byteWidthOf(type);
      if (type.kind === "float" || width <= 4) {
        const beside = relateToOne(relation, left, right, type, length);
        if (beside !== null) return beside;
      }
      if (type.kind === "float") {
        return relateFloats(
          relation,
          numbersOf(left, type),
          left.step,
          numbersOf(right, type),
          right.step,
          length,
        );
      }
      if (width <= 4) {
        return relateNumbers(
          relation,
          numbersOf(left, type),
          left.step,
          numbersOf(right, type),
          right.step,
          length,
        );
      }
      const isSigned = type.kind !== "int" || type.signed;
      const beside = width === 8 ? relatePairsToOne(relation, left, right, length, isSigned) : null;
      if (beside !== null) return beside;
      return width === 8
        ? relatePairs(relation, wordLane(left), left.step, wordLane(right), right.step, length, isSigned)
        : relateWords(relation, wordLane(left), left.step, wordLane(right), right.step, length, width / 4);
    }
  }
}

/** Numbers beside one that is no NaN, on either side; null for all others. */
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
  return beside(relation, isRight, (own) => compareNumber(own, values, number, length));
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
  a: NumberLane,
  stepA: number,
  b: NumberLane,
  stepB: number,
  length: number,
): Uint8Array {
  const bits = new Uint8Array((length + 7) >>> 3);
  let at = 0;
  let bt = 0;
  for (let row = 0, byte = 0; row < length; byte++) {
    let packed = 0;
    const end = Math.min(length - row, 8);
    if (relation === "less") {
      for (let bit = 0; bit < end; bit++, at += stepA, bt += stepB) if (a[at] < b[bt]) packed |= 1 << bit;
    } else if (relation === "atMost") {
      for (let bit = 0; bit < end; bit++, at += stepA, bt += stepB) if (a[at] <= b[bt]) packed |= 1 << bit;
    } else {
      for (let bit = 0; bit < end; bit++, at += stepA, bt += stepB) if (a[at] === b[bt]) packed |= 1 << bit;
    }
    bits[byte] = packed;
    row += 8;
  }
  return bits;
}

/** Numbers of which some may be NaN: comparisons of it are never true, so only a NaN on the right changes the outcome. */
function relateFloats(
  relation: Relation,
  a: NumberLane,
  stepA: number,
  b: NumberLane,
  stepB: number,
  length: number,
): Uint8Array {
  const bits = relateNumbers(relation, a, stepA, b, stepB, length);
  if (stepB === 0 && !Number.isNaN(b[0])) return bits;
  for (let row = 0, at = 0, bt = 0; row < length; row++, at += stepA, bt += stepB) {
    if (!Number.isNaN(b[bt])) continue;
    if (relation === "atMost" || (relation === "equal") === Number.isNaN(a[at]))
      bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

/** Integers of 64 bits beside one, on either side; null for all others, and for few. */
function relatePairsToOne(
  relation: Relation,
  left: Operand,
  right: Operand,
  length: number,
  isSigned: boolean,
): Uint8Array | null {
  if (left.step === right.step || !(isSigned || relation === "equal")) return null;
  const isRight = right.step === 0;
  const values = wordLane(isRight ? left : right);
  const number = wordLane(isRight ? right : left).slice(0, 2);
  const bits = new Uint8Array((length + 7) >>> 3);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, length * 8);
  return beside(relation, isRight, (own) =>
    compareInKernel("i64x2", own, bytes, new Uint8Array(number.buffer), bits) ? bits : null,
  );
}

/** Integers of 64 bits: pairs of words. */
function relatePairs(
  relation: Relation,
  a: Int32Array,
  stepA: number,
  b: Int32Array,
  stepB: number,
  length: number,
  isSigned: boolean,
): Uint8Array {
  const bits = new Uint8Array((length + 7) >>> 3);
  // With its highest bit turned, an unsigned word compares like a signed one.
  const flip = isSigned ? 0 : -0x8000_0000;
  const orEqual = relation === "atMost";
  if (relation === "equal") {
    for (let row = 0, at = 0, bt = 0; row < length; row++, at += 2 * stepA, bt += 2 * stepB) {
      if (a[at] === b[bt] && a[at + 1] === b[bt + 1]) bits[row >>> 3] |= 1 << (row & 7);
    }
    return bits;
  }
  for (let row = 0, at = 0, bt = 0; row < length; row++, at += 2 * stepA, bt += 2 * stepB) {
    const high = a[at + 1] ^ flip;
    const otherHigh = b[bt + 1] ^ flip;
    if (high > otherHigh) continue;
    if (high === otherHigh) {
      const low = a[at] >>> 0;
      const otherLow = b[bt] >>> 0;
      if (low > otherLow || (low === otherLow && !orEqual)) continue;
    }
    bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

/** Signed integers of many words. */
function relateWords(
  relation: Relation,
  a: Int32Array,
  stepA: number,
  b: Int32Array,
  stepB: number,
  length: number,
  width: number,
): Uint8Array {
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let row = 0; row < length; row++) {
    const at = row * stepA * width;
    const bt = row * stepB * width;
    let order = Math.sign(a[at + width - 1] - b[bt + width - 1]);
    for (let word = width - 2; order === 0 && word >= 0; word--) {
      order = Math.sign((a[at + word] >>> 0) - (b[bt + word] >>> 0));
    }
    if (fits(relation, order)) bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

const fits = (relation: Relation, order: number): boolean =>
  relation === "equal" ? order === 0 : relation === "less" ? order < 0 : order <= 0;

function equalBytes(left: Operand, right: Operand, length: number): Uint8Array {
  const a = byteLane(left);
  const b = byteLane(right);
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let row = 0, at = 0, bt = 0; row < length; row++, at += left.step, bt += right.step) {
    let first = a.offsets[at];
    let second = b.offsets[bt];
    const end = a.offsets[at + 1];
    if (end - first !== b.offsets[bt + 1] - second) continue;
    while (first < end && a.bytes[first] === b.bytes[second]) {
      first++;
      second++;
    }
    if (first === end) bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

function orderBytes(relation: Relation, left: Operand, right: Operand, length: number): Uint8Array {
  const a = byteLane(left);
  const b = byteLane(right);
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let row = 0, at = 0, bt = 0; row < length; row++, at += left.step, bt += right.step) {
    const order = compareRanges(
      a.bytes,
      a.offsets[at],
      a.offsets[at + 1],
      b.bytes,
      b.offsets[bt],
      b.offsets[bt + 1],
    );
    if (fits(relation, order)) bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

function relateNested(
  relation: Relation,
  left: Operand,
  right: Operand,
  type: ValueType,
  length: number,
  valid: Validity | null,
): Uint8Array {
  const compare = rowComparison(left.column, right.column, type);
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let row = 0; row < length; row++) {
    if (!isValid(valid, row)) continue;
    if (fits(relation, compare(row * left.step, row * right.step))) bits[row >>> 3] |= 1 << (row & 7);
  }
  return bits;
}

/** Orders single values: nulls inside lists and structs equal each other and come first. */
export function rowComparison(
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
  const one: Operand = { column: left, step: 1 };
  const other: Operand = { column: right, step: 1 };
  switch (type.kind) {
    case "null":
    case "other":
      return () => 0;
    case "bool": {
      const a = bitsOf(one, left.length);
      const b = bitsOf(other, right.length);
      return (i, j) => ((a[i >>> 3] >>> (i & 7)) & 1) - ((b[j >>> 3] >>> (j & 7)) & 1);
    }
    case "string":
    case "binary":
    case "fixedSizeBinary": {
      const a = byteLane(one);
      const b = byteLane(other);
      return (i, j) =>
        compareRanges(a.bytes, a.offsets[i], a.offsets[i + 1], b.bytes, b.offsets[j], b.offsets[j + 1]);
    }
    case "list": {
      const a = listLane(one);
      const b = listLane(other);
      const compare = rowComparison(a.items, b.items, type.item);
      return (i, j) => {
        let at = a.offsets[i];
        let bt = b.offsets[j];
        for (; at < a.offsets[i + 1] && bt < b.offsets[j + 1]; at++, bt++) {
          const order = compare(at, bt);
          if (order !== 0) return order;
        }
        return a.offsets[i + 1] - at - (b.offsets[j + 1] - bt);
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
        const a = numbersOf(one, type);
        const b = numbersOf(other, type);
        return (i, j) => orderNumbers(a[i], b[j]);
      }
      const a = wordLane(one);
      const b = wordLane(other);
      const words = width / 4;
      const flip = type.kind === "int" && !type.signed ? -0x8000_0000 : 0;
      return (i, j) => {
        const at = i * words;
        const bt = j * words;
        const high = a[at + words - 1] ^ flip;
        const otherHigh = b[bt + words - 1] ^ flip;
        if (high !== otherHigh) return high < otherHigh ? -1 : 1;
        for (let word = words - 2; word >= 0; word--) {
          const difference = (a[at + word] >>> 0) - (b[bt + word] >>> 0);
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
