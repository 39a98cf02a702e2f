/**
 * Compares values of two columns in place. Nulls are equal, and so are all NaNs; 0 and -0 differ. Structs and
 * lists are equal if their values are. Pure.
 */

import type { Column, FixedColumn, VariableColumn } from "../../arrow/columns/column.js";
import { decodeDictionary } from "../../arrow/columns/dictionaries.js";
import { isValid } from "../../arrow/columns/validity.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InternalError } from "../../errors.js";
import { isLeafForm, type KeyForm, positionsOf } from "./keyColumns.js";

/** Returns true if `count` values from `i` on of one column equal those from `j` on of the other. */
export type AreEqual = (i: number, j: number, count: number) => boolean;

/**
 * Makes the comparison of two columns of one type.
 * @param form form of their values; it tells where floats are
 */
export function equalValues(a: Column, b: Column, form: KeyForm): AreEqual {
  // The values of a dictionary may be null too.
  if (a.kind === "dictionary") return equalValues(decodeDictionary(a), b, form);
  if (b.kind === "dictionary") return equalValues(a, decodeDictionary(b), form);
  // A null column has no validity bits.
  if (a.kind === "null" || b.kind === "null") {
    const isNull = (column: Column, row: number) => column.kind === "null" || !isValid(column.validity, row);
    return each((i, j) => isNull(a, i) && isNull(b, j));
  }
  const areEqual = presentValues(a, b, form);
  const [ofA, ofB] = [a.validity, b.validity];
  if (ofA === null && ofB === null) return areEqual;
  return each((i, j) => {
    const isPresent = isValid(ofA, i);
    return isPresent === isValid(ofB, j) && (!isPresent || areEqual(i, j, 1));
  });
}

/** Compares value by value. */
const each =
  (isEqual: (i: number, j: number) => boolean): AreEqual =>
  (i, j, count) => {
    for (let index = 0; index < count; index++) if (!isEqual(i + index, j + index)) return false;
    return true;
  };

/** Compares values that are not null themselves. */
function presentValues(a: Column, b: Column, form: KeyForm): AreEqual {
  const childForm = (index: number) => (isLeafForm(form) ? form : form[index]);
  if (a.kind === "fixed" && b.kind === "fixed") return fixedValues(a, b, form);
  if (a.kind === "variable" && b.kind === "variable") return variableValues(a, b);
  if (a.kind === "bits" && b.kind === "bits") {
    const bitOf = (bits: Uint8Array, bit: number) => (bits[Math.floor(bit / 8)] >>> (bit & 7)) & 1;
    return each((i, j) => bitOf(a.bits, a.bitOffset + i) === bitOf(b.bits, b.bitOffset + j));
  }
  if (a.kind === "list" && b.kind === "list") {
    const areEqual = equalValues(a.items, b.items, childForm(0));
    const [startsA, startsB] = [positionsOf(a.offsets), positionsOf(b.offsets)];
    return each((i, j) => {
      const count = startsA[i + 1] - startsA[i];
      return count === startsB[j + 1] - startsB[j] && areEqual(startsA[i], startsB[j], count);
    });
  }
  if ("dimension" in a && "dimension" in b) {
    const { dimension } = a;
    const areEqual = equalValues(a.items, b.items, childForm(0));
    return (i, j, count) => areEqual(i * dimension, j * dimension, count * dimension);
  }
  if ("children" in a && "children" in b) {
    const members = a.children.map((child, index) => equalValues(child, b.children[index], childForm(index)));
    return each((i, j) => members.every((areEqual) => areEqual(i, j, 1)));
  }
  throw new InternalError(`columns of kinds ${a.kind} and ${b.kind} cannot be compared`);
}

function variableValues(a: VariableColumn, b: VariableColumn): AreEqual {
  const [startsA, startsB] = [positionsOf(a.offsets), positionsOf(b.offsets)];
  const areEqual = unitValues(a.bytes, b.bytes, 1);
  return each((i, j) => {
    const byteLength = startsA[i + 1] - startsA[i];
    return byteLength === startsB[j + 1] - startsB[j] && areEqual(startsA[i], startsB[j], byteLength);
  });
}

function fixedValues(a: FixedColumn, b: FixedColumn, form: KeyForm): AreEqual {
  const { byteWidth } = a;
  if (form === "float16") return floatValues(halvesOf(a), halvesOf(b), isHalfNaN);
  if (form === "float32") return floatValues(wordsOf(a), wordsOf(b), isSingleNaN);
  if (form === "float64") return doubleValues(wordsOf(a), wordsOf(b));
  return byteWidth % 4 === 0
    ? unitValues(wordsOf(a), wordsOf(b), byteWidth / 4)
    : unitValues(a.values, b.values, byteWidth);
}

/** Compares values of `width` units each. */
const unitValues =
  (a: Uint8Array | Uint32Array, b: Uint8Array | Uint32Array, width: number): AreEqual =>
  (i, j, count) => {
    const [start, distance] = [i * width, (j - i) * width];
    const end = start + count * width;
    for (let unit = start; unit < end; unit++) if (a[unit] !== b[unit + distance]) return false;
    return true;
  };

/** Compares floats of one unit each by their bits. */
const floatValues =
  <Units extends Uint16Array | Uint32Array>(
    a: Units,
    b: Units,
    isNotNumber: (bits: number) => boolean,
  ): AreEqual =>
  (i, j, count) => {
    for (let index = 0; index < count; index++) {
      const [bitsA, bitsB] = [a[i + index], b[j + index]];
      if (bitsA !== bitsB && !(isNotNumber(bitsA) && isNotNumber(bitsB))) return false;
    }
    return true;
  };

/** Compares floats of two words each, the lower one first. */
const doubleValues =
  (a: Uint32Array, b: Uint32Array): AreEqual =>
  (i, j, count) => {
    for (let index = 0; index < count; index++) {
      const [wordA, wordB] = [2 * (i + index), 2 * (j + index)];
      if (a[wordA] === b[wordB] && a[wordA + 1] === b[wordB + 1]) continue;
      if (!isDoubleNaN(a[wordA], a[wordA + 1]) || !isDoubleNaN(b[wordB], b[wordB + 1])) return false;
    }
    return true;
  };

const isHalfNaN = (bits: number): boolean => (bits & 0x7fff) > 0x7c00;
const isSingleNaN = (bits: number): boolean => (bits & 0x7fff_ffff) > 0x7f80_0000;
const isDoubleNaN = (low: number, high: number): boolean => {
  const magnitude = high & 0x7fff_ffff;
  return magnitude > 0x7ff0_0000 || (magnitude === 0x7ff0_0000 && low !== 0);
};

function halvesOf({ values, length }: FixedColumn): Uint16Array {
  const bytes = alignedBytes(values, 2);
  return new Uint16Array(bytes.buffer, bytes.byteOffset, length);
}

function wordsOf({ values, length, byteWidth }: FixedColumn): Uint32Array {
  const bytes = alignedBytes(values, 4);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, (length * byteWidth) / 4);
}
