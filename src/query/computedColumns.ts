/** Columns of a result that expressions compute, batch by batch. */

import type { Field } from "apache-arrow";
import type { Column, FixedColumn } from "../arrow/columns/column.js";
import { arrowFieldFromLogical, type LogicalField } from "../arrow/types/logicalTypes.js";
import { InternalError, UnsupportedError } from "../errors.js";
import type { BoundExpression } from "../expression/expression.js";
import { plainColumn } from "../expression/values/operands.js";
import { layoutOfValue, typeName, type ValueType } from "../expression/values/types.js";
import type { ColumnSource } from "./columnReads.js";
import { addressesAmong, type RowNumbers } from "./systemColumns.js";

/** An expression, and where the columns that it needs come from, in its order. */
export interface Computation {
  readonly expression: BoundExpression;
  /** The expression as it was written. */
  readonly text: string;
  readonly inputs: readonly ColumnSource[];
}

/** Whether the addresses of rows are needed to make the columns. */
export const needAddresses = (sources: Iterable<ColumnSource>): boolean =>
  [...sources].some(({ kind }) => kind === "system");

/**
 * Columns of some rows.
 * @param columns the outputs that were read; addresses after them where some source needs them
 */
export async function columnsFrom(
  sources: readonly ColumnSource[],
  numbers: RowNumbers,
  columns: readonly Column[],
): Promise<Column[]> {
  const made: Column[] = [];
  for (const source of sources) {
    made.push(
      source.kind === "stored"
        ? columns[source.output]
        : await numbers.column(source.which, addressesAmong(columns) satisfies FixedColumn),
    );
  }
  return made;
}

/** Computes a column of some rows. */
export async function compute(
  { expression, inputs }: Computation,
  numbers: RowNumbers,
  columns: readonly Column[],
  rowCount: number,
): Promise<Column> {
  const own = await columnsFrom(inputs, numbers, columns);
  return conformed(expression.evaluate(own, rowCount), expression.type);
}

/**
 * The field of a column that an expression computes.
 * @throws UnsupportedError for a type that can only be read, not computed
 */
export function computedField(name: string, { type }: BoundExpression): Field {
  return arrowFieldFromLogical(logicalField(name, type), name);
}

function logicalField(name: string, type: ValueType): LogicalField {
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
        logicalField("item", type.item),
      ]);
    case "struct":
      return of(
        { kind: "struct" },
        type.members.map((member) => logicalField(member.name, member.type)),
      );
    case "other":
      break;
    default:
      return of(type);
  }
  throw new UnsupportedError(
    `columns: an expression of type ${typeName(type)} is not supported by this release`,
  );
}

/** The column in the layout of its type: without dictionaries. */
function conformed(column: Column, type: ValueType): Column {
  if (column.kind === "dictionary") return plainColumn(column);
  if (column.kind === "list" && type.kind === "list") {
    return { ...column, items: conformed(column.items, type.item) };
  }
  if (column.kind === "struct" && type.kind === "struct") {
    const children = column.children.map((child, index) => conformed(child, type.members[index].type));
    return { ...column, children };
  }
  const { kind } = layoutOfValue(type);
  if (column.kind === kind) return column;
  throw new InternalError(`a column of kind ${column.kind} for values of type ${typeName(type)}`);
}
