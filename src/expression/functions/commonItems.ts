/** Casts lists and values that a function compares to one type of number: 1.5 is not an item of [1, 2]. */

import { numericType } from "../values/commonTypes.js";
import type { Scalar } from "../values/scalars.js";
import {
  greatestInteger,
  isNumeric,
  leastInteger,
  type NumericType,
  type ValueType,
} from "../values/types.js";
import type { FunctionDefinition } from "./form.js";

/**
 * @param definition a function that casts values to the type of its list's items
 * @param joined operands to cast together: lists, and values
 */
export const withCommonItems =
  (definition: FunctionDefinition, ...joined: readonly number[]): FunctionDefinition =>
  (types, constants) =>
    definition(broughtTogether(types, [], joined), constants);

/** Casts for a function that only compares. A list of integers keeps its type beside constants that fit. */
export const withComparedItems =
  (definition: FunctionDefinition): FunctionDefinition =>
  (types, constants) =>
    definition(broughtTogether(types, constants, [0, 1]), constants);

function broughtTogether(
  types: readonly ValueType[],
  constants: readonly (Scalar | undefined)[],
  joined: readonly number[],
): readonly ValueType[] {
  const typed = joined.filter((index) => index < types.length && itemOf(types[index]).kind !== "null");
  const items = typed.map((index) => itemOf(types[index]));
  if (items.length === 0) return types;
  let item: ValueType = items[0];
  if (items.every(isNumeric)) {
    const lists = typed.flatMap((index, slot) => (types[index].kind === "list" ? [items[slot]] : []));
    const values = typed.filter(
      (index) => types[index].kind !== "list" && !lists.some((list) => isValueOf(list, constants[index])),
    );
    const numbers = [...lists, ...values.map((index) => types[index] as NumericType)];
    if (numbers.length > 0) item = numbers.reduce(numericType);
  }
  return types.map((type, index) => {
    if (!joined.includes(index) || !(isNumeric(item) || itemOf(type).kind === "null")) return type;
    if (type.kind === "list") return { ...type, item };
    return type.kind === "null" ? type : item;
  });
}

const itemOf = (type: ValueType): ValueType => (type.kind === "list" ? type.item : type);

/** True if a constant is a whole number that the integer type can hold. */
function isValueOf(type: NumericType, value: Scalar | undefined): boolean {
  if (type.kind !== "int") return false;
  if (typeof value !== "bigint" && !(typeof value === "number" && Number.isInteger(value))) return false;
  return value >= leastInteger(type) && value <= greatestInteger(type);
}
