/** The field of a column that an expression computes, and its values in the layout of their type. */

import type { Column } from "../../arrow/columns/column.js";
import { decodeDictionary } from "../../arrow/columns/dictionaries.js";
import type { LogicalField } from "../../arrow/types/logicalTypes.js";
import { UnsupportedError } from "../../errors.js";
import { typeName, type ValueType } from "./types.js";

/**
 * Makes a nullable field for values of a type.
 * @param label the caller's name for the expression, for messages
 * @throws UnsupportedError for a type that can only be read, not computed
 */
export function fieldOfValues(name: string, type: ValueType, label: string): LogicalField {
  const of = (plain: LogicalField["type"], children: readonly LogicalField[] = []): LogicalField => ({
    name,
    type: plain,
    nullable: true,
    metadata: new Map(),
    children,
  });
  switch (type.kind) {
    case "list":
      if (type.size !== null || type.large) break;
      return of({ kind: "list", large: false, ofStructs: type.item.kind === "struct" }, [
        fieldOfValues("item", type.item, label),
      ]);
    case "struct":
      return of(
        { kind: "struct" },
        type.members.map((member) => fieldOfValues(member.name, member.type, label)),
      );
    case "other":
      break;
    default:
      return of(type);
  }
  throw new UnsupportedError(
    `${label}: an expression of type ${typeName(type)} is not supported by this release`,
  );
}

export function withoutDictionaries(column: Column): Column {
  switch (column.kind) {
    case "dictionary":
      return decodeDictionary(column);
    case "list":
      return { ...column, items: withoutDictionaries(column.items) };
    case "struct":
      return { ...column, children: column.children.map(withoutDictionaries) };
    default:
      return column;
  }
}
