/**
 * Pairs the columns of two versions. A column that was renamed is the same column. A column that the old
 * version lacks, or has with another type, reads as null there and is not compared. Columns that only the old
 * version has are left out. Pure.
 */

import { Field as ArrowField, Schema } from "apache-arrow";
import type { Column, Layout } from "../../arrow/columns/column.js";
import { layoutOf } from "../../arrow/types/layouts.js";
import { arrowSchemaOf } from "../../arrow/types/logicalTypes.js";
import { isSameType, type LogicalType } from "../../arrow/types/type.js";
import type { TableField } from "../../schema/schema.js";
import { type AreEqual, equalValues } from "./equalValues.js";
import { type KeyForm, keyFormOf } from "./keyColumns.js";

/** A column of the new version, and the same column of the old one. */
export interface ComparedColumn {
  readonly field: TableField;
  /** Null if the old version lacks the column. */
  readonly old: TableField | null;
  /** Layout of the column as a query returns it. */
  readonly layout: Layout;
  /** Form in which values are compared. */
  readonly form: KeyForm;
}

/** The columns of the new version, and their Arrow schema. */
export interface ComparedColumns {
  readonly columns: readonly ComparedColumn[];
  readonly schema: Schema;
  /** The schema with the fields' own nullability, for rows that are written. */
  readonly rowSchema: Schema;
}

/** @throws UnsupportedError for columns of a type that this build does not read */
export function pairColumns(
  oldFields: readonly TableField[],
  fields: readonly TableField[],
): ComparedColumns {
  const oldById = new Map(oldFields.map((field) => [field.id, field]));
  // Sorted rows have no dictionaries.
  const schema = arrowSchemaOf(fields.map(withoutDictionary));
  const columns = fields.map((field, index): ComparedColumn => {
    const same = oldById.get(field.id);
    return {
      field,
      old: same !== undefined && isSameShape(same, field) ? same : null,
      layout: layoutOf(schema.fields[index].type, field.name),
      form: keyFormOf(asBytes(field), field.name),
    };
  });
  return { columns, rowSchema: schema, schema: new Schema(schema.fields.map(nullable)) };
}

/** A row that is missing on one side makes any column null. */
const nullable = ({ name, type, metadata }: ArrowField): ArrowField =>
  new ArrowField(name, type, true, metadata);

const withoutDictionary = (field: TableField): TableField =>
  field.type.kind === "dictionary" ? { ...field, type: field.type.values } : field;

/** Returns true if values of both fields have the same form. */
function isSameShape(a: TableField, b: TableField): boolean {
  return (
    a.id === b.id &&
    isSameType(a.type, b.type) &&
    a.children.length === b.children.length &&
    a.children.every((child, index) => isSameShape(child, b.children[index]))
  );
}

/** Properties of a field that decide how its values are compared. */
interface Comparable {
  readonly type: LogicalType;
  readonly children: readonly Comparable[];
}

/** Compares JSON and bfloat16 as bytes. */
const asBytes = ({ type, children }: Comparable): Comparable => ({
  type:
    type.kind === "json" || type.kind === "bfloat16"
      ? { kind: "binary", large: false }
      : type.kind === "fixedSizeList"
        ? { ...type, of: asBytes({ type: type.of, children: [] }).type }
        : type,
  children: children.map(asBytes),
});

/** Compares rows of two versions, value by value, in place. */
export class RowComparison {
  readonly #comparisons: readonly AreEqual[];

  /** @param a columns of one side, in the order of `compared`; `b` likewise */
  constructor(compared: readonly ComparedColumn[], a: readonly Column[], b: readonly Column[]) {
    this.#comparisons = compared.flatMap(({ old, form }, index) =>
      old === null ? [] : [equalValues(a[index], b[index], form)],
    );
  }

  /** Returns true if row `i` of one side has the values of row `j` of the other. */
  isEqual(i: number, j: number): boolean {
    return this.#comparisons.every((areEqual) => areEqual(i, j, 1));
  }
}
