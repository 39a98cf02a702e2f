/** Functions of numbers. Real numbers are doubles, or floats if all operands are floats. */

import type { DecimalType, FloatType } from "../../arrow/types/type.js";
import { Pace } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { columnOfFloats, fixedColumn, floatArray, perRow } from "../kernels/arithmetic.js";
import { rescale } from "../kernels/decimals.js";
import { bitsColumn, numbersOf, type ValueKernel } from "../values/operands.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import { BOOL, FLOAT32, FLOAT64, INT64, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, taking } from "./form.js";

const realType = (types: readonly ValueType[]): FloatType =>
  types.every((type) => type.kind === "float" && type.bits === 32) ? FLOAT32 : FLOAT64;

/** A function of one real number, or of two. */
const reals = (kinds: "n" | "nn", compute: (left: number, right: number) => number): FunctionDefinition =>
  taking(kinds, (types) => {
    const type = realType(types);
    return { operands: types.map(() => type), type, kernel: realKernel(type, compute) };
  });

const realKernel =
  (type: FloatType, compute: (left: number, right: number) => number): ValueKernel =>
  ([left, right = left], length, valid) => {
    const a = numbersOf(left, type);
    const b = right === left ? a : numbersOf(right, type);
    const result = floatArray(type, length);
    for (let row = 0, index = 0, second = 0; row < length; row++, index += left.step, second += right.step) {
      result[row] = compute(a[index], b[second]);
    }
    return columnOfFloats(type, result, length, valid);
  };

const real = (compute: (value: number) => number): FunctionDefinition => reals("n", compute);
const real2 = (compute: (left: number, right: number) => number): FunctionDefinition => reals("nn", compute);

/** Rounds numbers; whole numbers stay unchanged. */
const rounding =
  (compute: (value: number) => number): FunctionDefinition =>
  (types, constants) => {
    if (types.length === 1 && types[0].kind === "int") {
      return { operands: types, type: types[0], kernel: ([operand]) => operand.column };
    }
    return real(compute)(types, constants);
  };

const roundHalfAway = (value: number): number => {
  const whole = Math.trunc(value);
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole;
};

const scaled = (compute: (value: number) => number): FunctionDefinition =>
  taking("n?i", (types, constants) => {
    if (types.length === 1) return real(compute)(types, constants);
    const type = realType(types.slice(0, 1));
    const kernel: ValueKernel = ([value, places], length, valid) => {
      const numbers = numbersOf(value, type);
      const readPlaces = scalarReader(places, INT64);
      const result = floatArray(type, length);
      for (let row = 0, index = 0; row < length; row++, index += value.step) {
        const factor = 10 ** Number(readPlaces(row) ?? 0);
        result[row] = compute(numbers[index] * factor) / factor;
      }
      return columnOfFloats(type, result, length, valid);
    };
    return { operands: [type, INT64], type, kernel };
  });

/** Number of digits before the point: rounding to this place, or a higher one, makes every decimal 0. */
const MAX_PLACES = 100n;

/** Rounds decimals exactly: the result has fewer digits. */
const round = taking("n?i", (types, constants) => {
  const [numberType] = types;
  if (numberType.kind !== "decimal") return scaled(roundHalfAway)(types, constants);
  const typeScale = BigInt(numberType.scale);
  const placesOf = (places: Scalar): bigint => {
    const value = BigInt(places as number | bigint);
    return value > typeScale ? typeScale : value < -MAX_PLACES ? -MAX_PLACES : value;
  };
  const digits = types.length === 1 ? 0n : constants[1];
  const places = digits === undefined ? null : placesOf(digits ?? 0n);
  const scale = places === null ? numberType.scale : Math.max(0, Number(places));
  // Rounding up may need one more digit, unless digits are dropped.
  const carries = scale === numberType.scale && (places === null || places < typeScale);
  const most = numberType.bits === 256 ? 76 : 38;
  const precision = Math.min(most, numberType.precision + (carries ? 1 : 0));
  const type: DecimalType = { ...numberType, precision, scale };
  const limit = 10n ** BigInt(precision);
  const kernel: ValueKernel = ([value, wanted], length, valid) => {
    const read = scalarReader(value, numberType);
    const readPlaces = wanted === undefined ? () => 0n : scalarReader(wanted, INT64);
    return perRow(type, length, valid, (row) => {
      const index = Number(placesOf(readPlaces(row)));
      const result = rescale(rescale(read(row) as bigint, numberType.scale, index), index, scale);
      if (result >= limit || result <= -limit)
        throw new InvalidInputError("round: a result has too many digits");
      return result;
    });
  };
  return { operands: types.length === 1 ? [numberType] : [numberType, INT64], type, kernel };
});

const abs = taking("n", (types) => {
  const [type] = types;
  if (type.kind === "float") return { operands: types, type, kernel: realKernel(type, Math.abs) };
  if (type.kind !== "int" && type.kind !== "decimal") {
    return { operands: [FLOAT64], type: FLOAT64, kernel: realKernel(FLOAT64, Math.abs) };
  }
  const kernel: ValueKernel = ([operand], length, valid) => {
    const read = scalarReader(operand, type);
    const least = type.kind === "int" && type.signed ? -(1n << BigInt(type.bits - 1)) : null;
    return perRow(type, length, valid, (row) => {
      const value = read(row) as number | bigint;
      if (least !== null && BigInt(value) === least) {
        throw new InvalidInputError(`abs: the absolute value of ${value} does not fit its type`);
      }
      return value < 0 ? -value : value;
    });
  };
  return { operands: types, type, kernel };
});

const test = (holds: (value: number) => boolean): FunctionDefinition =>
  taking("n", () => {
    const kernel: ValueKernel = ([operand], length, valid) => {
      const numbers = numbersOf(operand, FLOAT64);
      const bits = new Uint8Array((length + 7) >>> 3);
      for (let row = 0, index = 0; row < length; row++, index += operand.step) {
        if (holds(numbers[index])) bits[row >>> 3] |= 1 << (row & 7);
      }
      return bitsColumn(bits, length, valid);
    };
    return { operands: [FLOAT64], type: BOOL, kernel };
  });

const integers2 = (compute: (left: bigint, right: bigint) => bigint): FunctionDefinition =>
  taking("ii", () => {
    const kernel: ValueKernel = ([left, right], length, valid) => {
      const a = scalarReader(left, INT64);
      const b = scalarReader(right, INT64);
      return perRow(INT64, length, valid, (row) => compute(a(row) as bigint, b(row) as bigint));
    };
    return { operands: [INT64, INT64], type: INT64, kernel };
  });

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);

function greatestDivisor(left: bigint, right: bigint): bigint {
  let a = absolute(left);
  let b = absolute(right);
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

const power = real2((base, exponent) => base ** exponent);

const log: FunctionDefinition = (types, constants) =>
  types.length === 1
    ? real(Math.log10)(types, constants)
    : real2((base, value) => Math.log(value) / Math.log(base))(types, constants);

const pi = taking("", () => ({
  operands: [],
  type: FLOAT64,
  kernel: (_, length) => fixedColumn(new Float64Array(length).fill(Math.PI), length, null),
}));

/** Factorials up to 20!, the largest with 64 bits. */
const factorial = taking("i", () => {
  const kernel: ValueKernel = ([operand], length, valid) => {
    const read = scalarReader(operand, INT64);
    return perRow(INT64, length, valid, (row) => {
      const value = read(row) as bigint;
      if (value < 0n || value > 20n) throw new InvalidInputError(`factorial: ${value} is not from 0 to 20`);
      let product = 1n;
      for (let factor = 2n; factor <= value; factor++) product *= factor;
      return product;
    });
  };
  return { operands: [INT64], type: INT64, kernel };
});

const STEP_NUMBERS = 2 ** 14;

/** RANDOM(): from 0 (included) to 1 (excluded). */
const random = taking("", () => ({
  operands: [],
  type: FLOAT64,
  isVolatile: true,
  *kernel(_, length) {
    const numbers = new Float64Array(length);
    const pace = new Pace(STEP_NUMBERS);
    for (let row = 0; row < length; row++) {
      numbers[row] = Math.random();
      if (pace.isStep()) yield;
    }
    return fixedColumn(numbers, length, null);
  },
}));

export const NUMBER_FUNCTIONS: Functions = {
  abs,
  ceil: rounding(Math.ceil),
  floor: rounding(Math.floor),
  round,
  trunc: scaled(Math.trunc),
  signum: real(Math.sign),
  sqrt: real(Math.sqrt),
  cbrt: real(Math.cbrt),
  exp: real(Math.exp),
  ln: real(Math.log),
  log,
  log2: real(Math.log2),
  log10: real(Math.log10),
  power,
  pow: power,
  sin: real(Math.sin),
  cos: real(Math.cos),
  tan: real(Math.tan),
  cot: real((value) => 1 / Math.tan(value)),
  asin: real(Math.asin),
  acos: real(Math.acos),
  atan: real(Math.atan),
  atan2: real2(Math.atan2),
  sinh: real(Math.sinh),
  cosh: real(Math.cosh),
  tanh: real(Math.tanh),
  degrees: real((value) => (value * 180) / Math.PI),
  radians: real((value) => (value * Math.PI) / 180),
  pi,
  random,
  isnan: test(Number.isNaN),
  iszero: test((value) => value === 0),
  nanvl: real2((left, right) => (Number.isNaN(left) ? right : left)),
  factorial,
  gcd: integers2(greatestDivisor),
  lcm: integers2((left, right) =>
    left === 0n || right === 0n ? 0n : absolute((left * right) / greatestDivisor(left, right)),
  ),
};
