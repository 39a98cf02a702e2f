/** Special floats among ordered values: NaN, signed zeros, and the ends of the order. */

import type { Column } from "../../arrow/columns/column.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { InternalError } from "../../errors.js";
import type { OrderedValues } from "../valueOrder.js";

/** True if a value of any type is NaN. */
export function isNaNAt(type: LogicalType, values: OrderedValues, row: number): boolean {
  if (type.kind !== "float") return false;
  if (values.kind === "floats") {
    const infinity = type.bits === 16 ? 0x7c00 : 0x7f80_0000;
    return (values.numbers[row] & values.magnitude) > infinity;
  }
  if (values.kind !== "words") throw new InternalError(`floats of kind ${values.kind}`);
  const high = values.words[2 * row + 1] & 0x7fff_ffff;
  return high > 0x7ff0_0000 || (high === 0x7ff0_0000 && values.words[2 * row] !== 0);
}

/**
 * Returns the sign of a NaN, 0 for any other value. Negative NaN comes before all values, positive NaN after
 * them.
 */
export function signOfNaN(type: LogicalType, values: OrderedValues, row: number): -1 | 0 | 1 {
  if (!isNaNAt(type, values, row)) return 0;
  if (values.kind === "floats") return values.numbers[row] < 0 ? -1 : 1;
  return values.kind === "words" && values.words[2 * row + 1] >= 0x8000_0000 ? -1 : 1;
}

/** Upper two bytes of each float; its other bytes are zero. */
const ENDS = {
  infinity: { 16: 0x7c00, 32: 0x7f80, 64: 0x7ff0 },
  negativeInfinity: { 16: 0xfc00, 32: 0xff80, 64: 0xfff0 },
  NaN: { 16: 0x7e00, 32: 0x7fc0, 64: 0x7ff8 },
} as const;

/** Makes a column of one float. */
export function extremeFloat(value: keyof typeof ENDS, bits: 16 | 32 | 64): Column {
  const byteWidth = bits / 8;
  const values = new Uint8Array(byteWidth);
  new DataView(values.buffer).setUint16(byteWidth - 2, ENDS[value][bits], true);
  return { kind: "fixed", length: 1, validity: null, values, byteWidth };
}

/** Replaces both zeros by -0 among least values, and by 0 among greatest values. */
export function widenedZeros(
  type: LogicalType,
  values: OrderedValues,
  are: "least" | "greatest",
): OrderedValues {
  if (type.kind !== "float") return values;
  if (values.kind === "floats") {
    const zero = are === "least" ? ~values.magnitude : 0;
    const numbers = values.numbers.map((number) => ((number & values.magnitude) === 0 ? zero : number));
    return { ...values, numbers: numbers as Int16Array | Int32Array };
  }
  if (values.kind !== "words") throw new InternalError(`floats of kind ${values.kind}`);
  const words = values.words.slice();
  for (let index = 0; index < words.length; index += 2) {
    if (words[index] !== 0 || (words[index + 1] & 0x7fff_ffff) !== 0) continue;
    words[index + 1] = are === "least" ? 0x8000_0000 : 0;
  }
  return { ...values, words };
}
