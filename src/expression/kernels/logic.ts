/**
 * Three-valued logic over bitmaps. A boolean column becomes two bitmaps: the rows that are true, and those
 * that are false. Rows in neither are unknown.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { shiftBits, validityFrom } from "../../arrow/columns/validity.js";
import { bitsColumn, bitsOf, type Operand, type ValueKernel } from "../values/operands.js";

export interface Truth {
  readonly trues: Uint8Array;
  readonly falses: Uint8Array;
}

/** Returns the rows in which an operand is true, and those in which it is false. */
function truthOf(operand: Operand, length: number): Truth {
  const byteLength = (length + 7) >>> 3;
  if (operand.column.kind === "null") {
    return { trues: new Uint8Array(byteLength), falses: new Uint8Array(byteLength) };
  }
  const bits = bitsOf(operand, length);
  const valid = validBits(operand, length);
  const trues = new Uint8Array(byteLength);
  const falses = new Uint8Array(byteLength);
  for (let byte = 0; byte < byteLength; byte++) {
    const mask = valid === null ? 0xff : valid[byte];
    trues[byte] = bits[byte] & mask;
    falses[byte] = ~bits[byte] & mask;
  }
  return { trues, falses };
}

/** Returns a bit for each row in which an operand is true. May share the operand's memory. */
export function truesOf(operand: Operand, length: number): Uint8Array {
  if (operand.column.kind === "null") return new Uint8Array((length + 7) >>> 3);
  const bits = bitsOf(operand, length);
  const valid = validBits(operand, length);
  if (valid === null) return bits;
  const trues = new Uint8Array((length + 7) >>> 3);
  for (let byte = 0; byte < trues.length; byte++) trues[byte] = bits[byte] & valid[byte];
  return trues;
}

/** Returns the validity of an operand from bit 0 on; null if all rows are valid. */
function validBits({ column, step }: Operand, length: number): Uint8Array | null {
  const { validity } = column;
  if (validity === null) return null;
  if (step === 1) return shiftBits(validity.bytes, validity.bitOffset, 0, length);
  return new Uint8Array((length + 7) >>> 3);
}

/** Combines operands one after another with AND or OR. */
export class Combination {
  readonly #isAnd: boolean;
  readonly #length: number;
  #truth: Truth | null = null;

  constructor(kind: "and" | "or", length: number) {
    this.#isAnd = kind === "and";
    this.#length = length;
  }

  add(operand: Operand): void {
    const next = truthOf(operand, this.#length);
    const truth = this.#truth;
    if (truth === null) {
      this.#truth = next;
      return;
    }
    const { trues, falses } = truth;
    if (this.#isAnd) {
      for (let byte = 0; byte < trues.length; byte++) {
        trues[byte] &= next.trues[byte];
        falses[byte] |= next.falses[byte];
      }
    } else {
      for (let byte = 0; byte < trues.length; byte++) {
        trues[byte] |= next.trues[byte];
        falses[byte] &= next.falses[byte];
      }
    }
  }

  /** True if no further operand can change the result. */
  get isDecided(): boolean {
    if (this.#truth === null) return false;
    const decided = this.#isAnd ? this.#truth.falses : this.#truth.trues;
    const whole = this.#length >>> 3;
    for (let byte = 0; byte < whole; byte++) if (decided[byte] !== 0xff) return false;
    const rest = (1 << (this.#length & 7)) - 1;
    return rest === 0 || (decided[whole] & rest) === rest;
  }

  column(): Column {
    const truth = this.#truth ?? { trues: new Uint8Array(0), falses: new Uint8Array(0) };
    return columnOfTruth(truth, this.#length);
  }
}

function columnOfTruth({ trues, falses }: Truth, length: number): Column {
  const validBits = new Uint8Array(trues.length);
  for (let byte = 0; byte < validBits.length; byte++) validBits[byte] = trues[byte] | falses[byte];
  return bitsColumn(trues, length, validityFrom(validBits, 0, length));
}

export const not: ValueKernel = ([operand], length, valid) => {
  const bits = bitsOf(operand, length).slice(0, (length + 7) >>> 3);
  for (let byte = 0; byte < bits.length; byte++) bits[byte] = ~bits[byte];
  return bitsColumn(bits, length, valid);
};

/** IS [NOT] TRUE, FALSE and UNKNOWN, which are never unknown themselves. */
export function isTruth(truth: "true" | "false" | "unknown", isNegated: boolean): ValueKernel {
  return ([operand], length) => {
    const { trues, falses } = truthOf(operand, length);
    const bits = new Uint8Array(trues.length);
    for (let byte = 0; byte < bits.length; byte++) {
      const holds =
        truth === "true" ? trues[byte] : truth === "false" ? falses[byte] : ~(trues[byte] | falses[byte]);
      bits[byte] = isNegated ? ~holds : holds;
    }
    return bitsColumn(bits, length, null);
  };
}

/** IS [NOT] NULL, from the validity of the rows. */
export function nullTest(validity: Validity | null, isNegated: boolean, length: number): Column {
  const bits = new Uint8Array((length + 7) >>> 3);
  if (validity === null) {
    if (isNegated) bits.fill(0xff);
    return bitsColumn(bits, length, null);
  }
  const valid = shiftBits(validity.bytes, validity.bitOffset, 0, length);
  for (let byte = 0; byte < bits.length; byte++) bits[byte] = isNegated ? valid[byte] : ~valid[byte];
  return bitsColumn(bits, length, null);
}
