/**
 * Arithmetic on numbers of one type. Integers wrap at the ends of their range, and a division of one by zero
 * is an error. Floats follow IEEE 754; decimals are exact.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { DecimalType, FloatType, IntegerType } from "../../arrow/types/type.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { encodeHalfFloat } from "../../bytes/halfFloat.js";
import { InvalidInputError } from "../../errors.js";
import type { ArithmeticOperator } from "../parse/syntax.js";
import { checkMade } from "../values/boundedTake.js";
import { byteLane, numbersOf, type ValueKernel, wordLane } from "../values/operands.js";
import { columnInSteps, type Scalar, scalarReader } from "../values/scalars.js";
import { typeName, type ValueType } from "../values/types.js";
import { copyInSteps } from "../values/work.js";

export type NumberOperator = Exclude<ArithmeticOperator, "||">;

/** Applies the operator to two operands of `type`. The result has the type too. */
export function arithmetic(operator: NumberOperator, type: IntegerType | FloatType): ValueKernel {
  if (type.kind === "float") return floatArithmetic(operator, type);
  if (type.bits === 64) return wideArithmetic(operator, type);
  return integerArithmetic(operator, type);
}

function floatArithmetic(operator: NumberOperator, type: FloatType): ValueKernel {
  return ([left, right], length, valid) => {
    const a = numbersOf(left, type);
    const b = numbersOf(right, type);
    const result = floatArray(type, length);
    const stepA = left.step;
    const stepB = right.step;
    switch (operator) {
      case "+":
        for (let row = 0, aIndex = 0, bIndex = 0; row < length; row++, aIndex += stepA, bIndex += stepB)
          result[row] = a[aIndex] + b[bIndex];
        break;
      case "-":
        for (let row = 0, aIndex = 0, bIndex = 0; row < length; row++, aIndex += stepA, bIndex += stepB)
          result[row] = a[aIndex] - b[bIndex];
        break;
      case "*":
        for (let row = 0, aIndex = 0, bIndex = 0; row < length; row++, aIndex += stepA, bIndex += stepB)
          result[row] = a[aIndex] * b[bIndex];
        break;
      case "/":
        for (let row = 0, aIndex = 0, bIndex = 0; row < length; row++, aIndex += stepA, bIndex += stepB)
          result[row] = a[aIndex] / b[bIndex];
        break;
      default:
        for (let row = 0, aIndex = 0, bIndex = 0; row < length; row++, aIndex += stepA, bIndex += stepB)
          result[row] = a[aIndex] % b[bIndex];
    }
    return columnOfFloats(type, result, length, valid);
  };
}

function integerArithmetic(operator: NumberOperator, type: IntegerType): ValueKernel {
  return ([left, right], length, valid) => {
    const a = numbersOf(left, type);
    const b = numbersOf(right, type);
    const result = integerArray(type, length);
    for (
      let row = 0, aIndex = 0, bIndex = 0;
      row < length;
      row++, aIndex += left.step, bIndex += right.step
    ) {
      const x = a[aIndex];
      const y = b[bIndex];
      switch (operator) {
        case "+":
          result[row] = x + y;
          break;
        case "-":
          result[row] = x - y;
          break;
        case "*":
          result[row] = Math.imul(x, y);
          break;
        case "<<":
          result[row] = x << (y & (type.bits - 1));
          break;
        case ">>":
          result[row] = type.signed ? x >> (y & (type.bits - 1)) : x >>> (y & (type.bits - 1));
          break;
        default:
          if (y === 0) {
            if (isValid(valid, row)) throw divisionByZero();
          } else {
            const value = operator === "/" ? Math.trunc(x / y) : x % y;
            result[row] = value;
            if (result[row] !== value && isValid(valid, row)) throw overflow();
          }
      }
    }
    return fixedColumn(result, length, valid);
  };
}

type IntegerArray = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array;

function integerArray({ bits, signed }: IntegerType, length: number): IntegerArray {
  switch (bits) {
    case 8:
      return signed ? new Int8Array(length) : new Uint8Array(length);
    case 16:
      return signed ? new Int16Array(length) : new Uint16Array(length);
    default:
      return signed ? new Int32Array(length) : new Uint32Array(length);
  }
}

/** Doubles are exact for integers below this. */
const EXACT = 2 ** 53;

/** Integers of 64 bits: as doubles if these are exact, else as bigint. */
function wideArithmetic(operator: NumberOperator, type: IntegerType): ValueKernel {
  return ([left, right], length, valid) => {
    const a = wordLane(left);
    const b = wordLane(right);
    const words = new Int32Array(2 * length);
    const result = new BigInt64Array(words.buffer);
    const compute = (row: number, aIndex: number, bIndex: number): void => {
      const x = doubleOf(a, aIndex, type.signed);
      const y = doubleOf(b, bIndex, type.signed);
      const exact = Math.abs(x) < EXACT && Math.abs(y) < EXACT ? quickResult(operator, x, y) : Number.NaN;
      if (Math.abs(exact) < EXACT) {
        words[2 * row] = exact;
        words[2 * row + 1] = Math.floor(exact / 2 ** 32);
      } else if (isValid(valid, row)) {
        const value = wideResult(
          operator,
          integerOf(a, aIndex, type.signed),
          integerOf(b, bIndex, type.signed),
        );
        result[row] = BigInt.asIntN(64, value);
      }
    };
    const hasNarrow = operator === "%" && type.signed;
    for (
      let row = 0, aIndex = 0, bIndex = 0;
      row < length;
      row++, aIndex += 2 * left.step, bIndex += 2 * right.step
    ) {
      const [low, divisor] = [a[aIndex], b[bIndex]];
      // Most integers fit in 32 bits, and their remainders take a fraction of the time of doubles.
      if (hasNarrow && divisor > 0 && b[bIndex + 1] === 0 && a[aIndex + 1] === low >> 31) {
        const rest = (low % divisor) | 0;
        words[2 * row] = rest;
        words[2 * row + 1] = rest >> 31;
      } else compute(row, aIndex, bIndex);
    }
    return fixedColumn(result, length, valid);
  };
}

const doubleOf = (words: Int32Array, index: number, signed: boolean): number =>
  (words[index] >>> 0) + (signed ? words[index + 1] : words[index + 1] >>> 0) * 2 ** 32;

const integerOf = (words: Int32Array, index: number, signed: boolean): bigint =>
  (BigInt(signed ? words[index + 1] : words[index + 1] >>> 0) << 32n) | BigInt(words[index] >>> 0);

/** Returns NaN if doubles are not exact. */
function quickResult(operator: NumberOperator, x: number, y: number): number {
  switch (operator) {
    case "+":
      return x + y;
    case "-":
      return x - y;
    case "*":
      return x * y;
    case "/":
      return y === 0 ? Number.NaN : Math.trunc(x / y);
    case "%":
      return y === 0 ? Number.NaN : x % y;
    default:
      return Number.NaN;
  }
}

function wideResult(operator: NumberOperator, x: bigint, y: bigint): bigint {
  switch (operator) {
    case "+":
      return x + y;
    case "-":
      return x - y;
    case "*":
      return x * y;
    case "<<":
      return x << (y & 63n);
    case ">>":
      return x >> (y & 63n);
    default:
      if (y === 0n) throw divisionByZero();
      if (operator === "/" && y === -1n && x === -(2n ** 63n)) throw overflow();
      return operator === "/" ? x / y : x % y;
  }
}

/**
 * Decimals of different scales.
 * @param result of the operation
 */
export function decimalArithmetic(
  operator: NumberOperator,
  left: DecimalType,
  right: DecimalType,
  result: DecimalType,
): ValueKernel {
  const scale = Math.max(left.scale, right.scale);
  const raiseLeft = 10n ** BigInt(scale - left.scale);
  const raiseRight = 10n ** BigInt(scale - right.scale);
  const shift = result.scale - left.scale + right.scale;
  const limit = 10n ** BigInt(result.precision);
  return ([first, second], length, valid) => {
    const a = scalarReader(first, left);
    const b = scalarReader(second, right);
    return perRow(result, length, valid, (row) => {
      const x = a(row) as bigint;
      const y = b(row) as bigint;
      let value: bigint;
      switch (operator) {
        case "+":
          value = x * raiseLeft + y * raiseRight;
          break;
        case "-":
          value = x * raiseLeft - y * raiseRight;
          break;
        case "*":
          value = x * y;
          break;
        default:
          if (y === 0n) throw divisionByZero();
          if (operator === "%") value = (x * raiseLeft) % (y * raiseRight);
          else value = shift >= 0 ? (x * 10n ** BigInt(shift)) / y : x / (y * 10n ** BigInt(-shift));
      }
      if (value >= limit || value <= -limit) {
        throw new InvalidInputError(`a result does not fit ${typeName(result)}`);
      }
      return value;
    });
  };
}

export function negation(type: IntegerType | FloatType | DecimalType): ValueKernel {
  if (type.kind === "float") {
    return ([operand], length, valid) => {
      const numbers = numbersOf(operand, type);
      const result = floatArray(type, length);
      for (let row = 0, index = 0; row < length; row++, index += operand.step) result[row] = -numbers[index];
      return columnOfFloats(type, result, length, valid);
    };
  }
  return ([operand], length, valid) => {
    const read = scalarReader(operand, type);
    return perRow(type, length, valid, (row) => {
      const value = read(row) as number | bigint;
      return typeof value === "bigint" && type.kind === "int" ? BigInt.asIntN(64, -value) : -value;
    });
  };
}

/**
 * Computes a column value by value, for rare operations without loops of their own.
 * @param workOf microseconds of a value, if more than a few
 * @throws InvalidInputError if the values are too long together
 */
export function* perRow(
  type: ValueType,
  length: number,
  valid: Validity | null,
  compute: (row: number) => Scalar,
  workOf?: (row: number) => number,
): Steps<Column> {
  const values = new Array<Scalar>(length);
  const pace = new Pace(STEP_ROWS);
  let byteCount = 0;
  for (let row = 0; row < length; row++) {
    const value = isValid(valid, row) ? compute(row) : null;
    values[row] = value;
    let size = 0;
    if (typeof value === "string" || (typeof value === "object" && value !== null)) {
      size = value.length;
      byteCount += size;
      checkMade(byteCount);
    }
    if (pace.isStep(1 + (size >>> 8) + (workOf?.(row) ?? 0))) yield;
  }
  return yield* columnInSteps(type, values);
}

const STEP_ROWS = 256;

/** Array in which floats of a type are computed. Floats of 16 bits are computed in 32 bits. */
export const floatArray = ({ bits }: FloatType, length: number): Float32Array | Float64Array =>
  bits === 64 ? new Float64Array(length) : new Float32Array(length);

export const columnOfFloats = (
  { bits }: FloatType,
  values: Float32Array | Float64Array,
  length: number,
  valid: Validity | null,
): Column => fixedColumn(bits === 16 ? Uint16Array.from(values, encodeHalfFloat) : values, length, valid);

export function fixedColumn(
  values: IntegerArray | BigInt64Array | Float32Array | Float64Array,
  length: number,
  valid: Validity | null,
): Column {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { kind: "fixed", length, validity: valid, byteWidth: values.BYTES_PER_ELEMENT, values: bytes };
}

/** Converts numbers to a column of integers of 64 bits. */
export function* wideColumn(numbers: Uint32Array): Steps<Column> {
  const words = new Uint32Array(2 * numbers.length);
  for (let first = 0; first < numbers.length; first += STEP_WIDENED) {
    const end = Math.min(numbers.length, first + STEP_WIDENED);
    for (let index = first; index < end; index++) words[2 * index] = numbers[index];
    if (end < numbers.length) yield;
  }
  return fixedColumn(new BigInt64Array(words.buffer), numbers.length, null);
}

const STEP_WIDENED = 2 ** 18;

/** Returns the type of the result of an operator on decimals. */
export function decimalResult(operator: NumberOperator, left: DecimalType, right: DecimalType): DecimalType {
  const bits = left.bits === 256 || right.bits === 256 ? 256 : 128;
  const most = bits === 256 ? 76 : 38;
  const make = (precision: number, scale: number): DecimalType => ({
    kind: "decimal",
    bits,
    precision: Math.min(precision, most),
    scale: Math.min(scale, most),
  });
  const whole = Math.max(left.precision - left.scale, right.precision - right.scale);
  const scale = Math.max(left.scale, right.scale);
  switch (operator) {
    case "*":
      return make(left.precision + right.precision + 1, left.scale + right.scale);
    case "/": {
      const quotient = Math.min(left.scale + 4, most);
      return make(quotient - left.scale + right.scale + left.precision, quotient);
    }
    case "%":
      return make(Math.min(left.precision - left.scale, right.precision - right.scale) + scale, scale);
    default:
      return make(whole + scale + 1, scale);
  }
}

/** The least integer has no positive counterpart. */
const overflow = (): InvalidInputError => new InvalidInputError("the result of a division is out of range");

const divisionByZero = (): InvalidInputError => new InvalidInputError("an integer is divided by zero");

const STEP_JOINED = 2 ** 20;
/** Maximum length of a value that is copied in one step. */
const MAX_COPIED = 2 ** 20;
/** Work of a row besides its bytes. */
const ROW_WORK = 64;

/** || of two texts, or of two values of bytes. */
export const concatenation: ValueKernel = function* run([left, right], length, valid) {
  const a = byteLane(left);
  const b = byteLane(right);
  const offsets = new Int32Array(length + 1);
  let size = 0;
  const sizeOf = (lane: typeof a, index: number) => lane.offsets[index + 1] - lane.offsets[index];
  for (let row = 0; row < length; row++) {
    if (isValid(valid, row)) size += sizeOf(a, row * left.step) + sizeOf(b, row * right.step);
    if (size > 0x7fff_ffff) throw new InvalidInputError("the texts of a batch take more than 2 GiB");
    offsets[row + 1] = size;
  }
  const bytes = new Uint8Array(size);
  const pace = new Pace(STEP_JOINED);
  for (let row = 0; row < length; row++) {
    if (offsets[row] === offsets[row + 1]) continue;
    const aIndex = row * left.step;
    const bIndex = row * right.step;
    const middle = offsets[row] + sizeOf(a, aIndex);
    if (offsets[row + 1] - offsets[row] > MAX_COPIED) {
      yield* copyInSteps(a.bytes, a.offsets[aIndex], a.offsets[aIndex + 1], bytes, offsets[row]);
      yield* copyInSteps(b.bytes, b.offsets[bIndex], b.offsets[bIndex + 1], bytes, middle);
      continue;
    }
    bytes.set(a.bytes.subarray(a.offsets[aIndex], a.offsets[aIndex + 1]), offsets[row]);
    bytes.set(b.bytes.subarray(b.offsets[bIndex], b.offsets[bIndex + 1]), middle);
    if (pace.isStep(ROW_WORK + offsets[row + 1] - offsets[row])) yield;
  }
  return { kind: "variable", length, validity: valid, offsets, bytes };
};
