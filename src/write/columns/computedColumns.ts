/** New columns whose values expressions compute from other columns of the row. */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { UnsupportedError } from "../../errors.js";
import type { BoundExpression } from "../../expression/expression.js";
import type { AllocateResult } from "../../expression/values/operands.js";
import type { ValueType } from "../../expression/values/types.js";
import { fieldOfValues, withoutDictionaries } from "../../expression/values/valueField.js";
import { formatFieldPath } from "../../ident.js";
import { type NewField, storageOf, type TableField } from "../../schema/schema.js";

/** A computed column and its expression. */
export interface ComputedColumn {
  readonly kind: "computed";
  readonly expression: BoundExpression;
  /** Text of the expression, unchanged. */
  readonly text: string;
  /** Fields that the expression needs, in its order. */
  readonly inputs: readonly TableField[];
  /** The field that the expression names, if it consists of a name; else null. */
  readonly copied: TableField | null;
}

/** @throws UnsupportedError for an expression over blobs */
export function planComputedColumn(
  expression: BoundExpression,
  text: string,
  present: readonly TableField[],
  label: string,
): ComputedColumn {
  const inputs = expression.paths.map((path) => fieldAt(present, path));
  for (const [index, input] of inputs.entries()) {
    if (!holdsBlobs(input)) continue;
    const path = formatFieldPath(expression.paths[index]);
    throw new UnsupportedError(`${label}: column ${path} holds blobs, which expressions cannot use`);
  }
  const copied = expression.column === null ? null : inputs[0];
  return { kind: "computed", expression, text, inputs, copied };
}

function fieldAt(fields: readonly TableField[], [name, ...members]: readonly string[]): TableField {
  const field = fields.find((each) => each.name === name) as TableField;
  return members.length === 0 ? field : fieldAt(field.children, members);
}

export const holdsBlobs = (field: TableField): boolean =>
  storageOf(field) === "blobs" || storageOf(field) === "blobStructs" || field.children.some(holdsBlobs);

/** Returns the nullable field of a computed column. @throws UnsupportedError for some types */
export function storedComputedField(
  name: string,
  { expression, copied }: ComputedColumn,
  label: string,
): NewField {
  const { type } = expression;
  if (copied !== null && !holdsOther(type)) return { ...withoutMetadata(copied), name, nullable: true };
  return fieldOfValues(name, type, label);
}

const holdsOther = (type: ValueType): boolean =>
  type.kind === "other" ||
  (type.kind === "list" && holdsOther(type.item)) ||
  (type.kind === "struct" && type.members.some((member) => holdsOther(member.type)));

const withoutMetadata = ({ name, type, nullable, children }: TableField): NewField => ({
  name,
  type,
  nullable,
  metadata: new Map(),
  children: children.map(withoutMetadata),
});

/**
 * Computes the values of a column for some rows.
 * @param allocate makes the memory of floats, or of joined texts. Default: new memory
 */
export function* computeColumn(
  { expression, copied }: ComputedColumn,
  inputs: readonly Column[],
  rowCount: number,
  allocate?: AllocateResult,
): Steps<Column> {
  const column = yield* expression.evaluate(inputs, rowCount, allocate);
  return copied === null ? withoutDictionaries(column) : column;
}
