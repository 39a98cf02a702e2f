/** The aggregate functions: the types that they take and return, and the accumulator of each. */

import { InvalidInputError, UnsupportedError } from "../../errors.js";
import {
  FLOAT64,
  INT32,
  INT64,
  isNumeric,
  typeName,
  UINT64,
  type ValueType,
} from "../../expression/values/types.js";
import type { Accumulator } from "./accumulator.js";
import { ApproximateCount } from "./approximateCount.js";
import { type Choice, ChosenValues } from "./chosenValues.js";
import { areGroupable } from "./distinctValues.js";
import { Moments } from "./moments.js";
import { Quantiles } from "./quantiles.js";
import { SortedValues, type SpillOptions } from "./sortedValues.js";
import { Count, ExactSum, FloatSum } from "./sums.js";

export interface AggregateFunction {
  /**
   * Returns the type to which the operand is cast.
   * @throws InvalidInputError for a type that the function does not take
   */
  operandType(type: ValueType): ValueType;
  /** Returns the type of the results. @param type that to which the operand was cast */
  resultType(type: ValueType): ValueType;
  /** @param fraction of a quantile, from 0 to 1; 0 for other functions */
  make(type: ValueType, fraction: number, options: SpillOptions): Accumulator;
  /** True if a state has all values of its group, some in a file. Default false. */
  readonly keepsValues?: boolean;
}

const anyType = (type: ValueType): ValueType => type;

function groupable(type: ValueType): ValueType {
  if (areGroupable(type)) return type;
  throw new UnsupportedError(`values of type ${typeName(type)} can't be compared by this release`);
}

/** Returns the type in which values are summed. */
function summedType(type: ValueType): ValueType {
  switch (type.kind) {
    case "null":
      return FLOAT64;
    case "bool":
      return INT32;
    case "float":
      return FLOAT64;
    case "int":
      return type.bits === 64 ? type : type.bits === 32 && !type.signed ? INT64 : INT32;
    case "decimal":
      return type;
  }
  throw new InvalidInputError(`a number is expected, not ${typeName(type)}`);
}

function floatType(type: ValueType): ValueType {
  if (isNumeric(type) || type.kind === "null") return FLOAT64;
  throw new InvalidInputError(`a number is expected, not ${typeName(type)}`);
}

/** Returns the type of a sum, which has more room than its values. */
function sumType(type: ValueType): ValueType {
  if (type.kind === "decimal")
    return { ...type, bits: type.bits === 256 ? 256 : 128, precision: type.bits === 256 ? 76 : 38 };
  if (type.kind !== "int") return FLOAT64;
  return type.signed ? INT64 : UINT64;
}

const chosen = (choice: Choice): AggregateFunction => ({
  operandType: groupable,
  resultType: anyType,
  make: (type) => new ChosenValues(choice, type),
});

const moments = (isRoot: boolean, isOfSample: boolean): AggregateFunction => ({
  operandType: floatType,
  resultType: () => FLOAT64,
  make: () => new Moments({ isRoot, isOfSample }),
});

const quantile: AggregateFunction = {
  operandType: floatType,
  resultType: () => FLOAT64,
  make: (_, fraction, options) => new Quantiles(fraction, new SortedValues(options)),
  keepsValues: true,
};

export const FUNCTIONS: Readonly<Record<string, AggregateFunction>> = {
  count: { operandType: anyType, resultType: () => INT64, make: () => new Count() },
  approx_count_distinct: {
    operandType: groupable,
    resultType: () => INT64,
    make: (type) => new ApproximateCount(type),
  },
  sum: {
    operandType: summedType,
    resultType: sumType,
    make: (type) => (type.kind === "float" ? new FloatSum(false) : new ExactSum(type, sumType(type))),
  },
  avg: {
    operandType: (type) => (type.kind === "decimal" ? FLOAT64 : summedType(type)),
    resultType: () => FLOAT64,
    make: (type) => (type.kind === "float" ? new FloatSum(true) : new ExactSum(type, null)),
  },
  min: chosen("min"),
  max: chosen("max"),
  first: chosen("first"),
  last: chosen("last"),
  any_value: chosen("any"),
  stddev_samp: moments(true, true),
  stddev_pop: moments(true, false),
  var_samp: moments(false, true),
  var_pop: moments(false, false),
  median: quantile,
  quantile_cont: quantile,
};
