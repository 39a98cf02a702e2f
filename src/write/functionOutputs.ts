/** Functions of the host by their names, and the types of their values. */

import type { LogicalField } from "../arrow/types/logicalTypes.js";
import { formatType, isSameType } from "../arrow/types/type.js";
import { InvalidInputError } from "../errors.js";
import type { RegisteredFunction } from "./userFunctions.js";

/** True if two fields have the same type, including the fields inside them. */
export function haveSameType(left: LogicalField, right: LogicalField): boolean {
  return (
    isSameType(left.type, right.type) &&
    left.children.length === right.children.length &&
    left.children.every((child, index) => {
      const twin = right.children[index];
      return (left.type.kind !== "struct" || child.name === twin.name) && haveSameType(child, twin);
    })
  );
}

/** Formats the type of a field for messages: `fixed_size_list:float:3`, `struct<a: int32>`. */
export function typeInWords({ type, children }: LogicalField): string {
  const typeName = formatType(type);
  if (children.length === 0) return typeName;
  const inside = children.map((child) => `${child.name}: ${typeInWords(child)}`);
  return `${typeName}<${inside.join(", ")}>`;
}

/** @throws InvalidInputError naming the registered functions */
export function functionNamed(
  functions: ReadonlyMap<string, RegisteredFunction>,
  name: string,
  label: string,
): RegisteredFunction {
  const owner = functions.get(name);
  if (owner !== undefined) return owner;
  const names = functions.size === 0 ? "none is" : `${[...functions.keys()].join(", ")} are`;
  throw new InvalidInputError(`${label}: there is no function ${name}; ${names} registered`);
}
