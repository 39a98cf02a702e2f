/**
 * New values of an update. The result of an expression is cast to its column's type, by the rules of CAST. A
 * value of the caller is taken as in rows that are inserted.
 */

import { Field, LargeBinary } from "apache-arrow";
import {
  type Column,
  JSONB_LAYOUT,
  type LeafColumn,
  type VariableLayout,
} from "../../arrow/columns/column.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { unwrapStructs } from "../../arrow/columns/spine.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { binaryOf } from "../../arrow/objects/valueKinds.js";
import { layoutOf } from "../../arrow/types/layouts.js";
import { arrowFieldFromLogical } from "../../arrow/types/logicalTypes.js";
import { runAsync, type Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import { InternalError, InvalidInputError, UnsupportedError } from "../../errors.js";
import { type BoundExpression, bindAssigned, type ExpressionInput } from "../../expression/expression.js";
import { STRING, type ValueType, valueTypeOfField } from "../../expression/values/types.js";
import { formatFieldPath } from "../../ident.js";
import type { FilterParameters } from "../../namespace/queries.js";
import { outdatedFields } from "../../schema/computedFields.js";
import { resolveField } from "../../schema/fieldPaths.js";
import { storageOf, type TableField } from "../../schema/schema.js";
import { storedColumn } from "./storedValues.js";

const json = lazyModule(() => import("../../arrow/columns/json.js"));
/** The first assignment of a value, not of an expression, loads this module. */
const objects = lazyModule(() => import("../../arrow/objects/encodeValues.js"));

/** A column to set, in the caller's spelling, to an expression or to a value. */
export type Assignment = {
  readonly path: string;
  /** The caller's spelling of the value, for messages. */
  readonly label: string;
} & ({ readonly expression: ExpressionInput } | { readonly value: unknown });

export interface PlannedAssignment {
  /** Index of the column among the table's. */
  readonly index: number;
  readonly field: TableField;
  /** True for blobs, which files store as structs that hold their locations. */
  readonly wrapsBlobs: boolean;
  /** Returns the new values in the form that is written. */
  evaluate(columns: readonly Column[], rowCount: number): Steps<Column>;
}

/**
 * Plans assignments. Columns that are computed from an assigned one become null.
 * @throws TableColumnNotFoundError, InvalidInputError for columns and expressions that do not fit;
 *   UnsupportedError for members of columns, and for functions and types that this build lacks
 */
export async function planAssignments(
  fields: readonly TableField[],
  assignments: readonly Assignment[],
  parameters: FilterParameters,
  signal: AbortSignal | undefined,
): Promise<PlannedAssignment[]> {
  const seen = new Set<number>();
  const planned: PlannedAssignment[] = [];
  for (const assignment of assignments) {
    const { chain, path } = resolveField(fields, assignment.path);
    if (chain.length > 1) {
      throw new UnsupportedError(
        `${assignment.label}: setting a part of a column, ${path}, is not supported by this release; set the whole column`,
      );
    }
    const [field] = chain;
    if (seen.has(field.id)) throw new InvalidInputError(`${assignment.label}: column ${path} is set twice`);
    seen.add(field.id);
    planned.push(await planAssignment(fields, field, assignment, parameters, signal));
  }
  const set = new Set(planned.map(({ field }) => field.name));
  return [...planned, ...outdatedFields(fields, set).map((field) => withoutValues(fields, field))];
}

/** Makes a computed column null, since its inputs change. */
function withoutValues(fields: readonly TableField[], field: TableField): PlannedAssignment {
  const path = formatFieldPath([field.name]);
  const { type } = arrowFieldFromLogical(field, path);
  const layout = field.type.kind === "json" ? JSONB_LAYOUT : layoutOf(type, path);
  return {
    index: fields.indexOf(field),
    field,
    wrapsBlobs: false,
    *evaluate(_, rowCount) {
      yield;
      return nullColumn(layout, rowCount);
    },
  };
}

function planAssignment(
  fields: readonly TableField[],
  field: TableField,
  assignment: Assignment,
  parameters: FilterParameters,
  signal: AbortSignal | undefined,
): Promise<PlannedAssignment> {
  if ("value" in assignment) return planValue(fields, field, assignment.value);
  return planExpression(fields, field, assignment, parameters, signal);
}

/** @throws TableSchemaValidationError for a value that the column's type does not take */
async function planValue(
  fields: readonly TableField[],
  field: TableField,
  value: unknown,
): Promise<PlannedAssignment> {
  const path = formatFieldPath([field.name]);
  const wrapsBlobs =
    storageOf(field) === "blobStructs" && (typeof value === "string" || binaryOf(value) !== null);
  const plain = arrowFieldFromLogical(field, path);
  const target = wrapsBlobs ? new Field(plain.name, new LargeBinary(), plain.nullable) : plain;
  const { encodeValues } = await objects.get();
  const fitted = encodeValues([value], target, { path, rowOf: () => null });
  const stored =
    field.type.kind === "json" ? (await json.get()).jsonbColumn(fitted as LeafColumn, path) : fitted;
  return {
    index: fields.indexOf(field),
    field,
    wrapsBlobs,
    *evaluate(_, rowCount) {
      yield;
      return takeColumn(stored, new Uint32Array(rowCount));
    },
  };
}

async function planExpression(
  fields: readonly TableField[],
  field: TableField,
  { expression: input, label }: Extract<Assignment, { readonly expression: unknown }>,
  parameters: FilterParameters,
  signal: AbortSignal | undefined,
): Promise<PlannedAssignment> {
  const path = formatFieldPath([field.name]);
  const bound = bindAssigned(input, parameters, fields, (valueType) => assignedType(field, valueType), label);
  const expression = await runAsync(bound, signal);
  const inputs = expression.paths.map((segments) => inputAt(fields, segments));
  const isText = field.type.kind === "json" && expression.type.kind === "string";
  const wrapsBlobs = storageOf(field) === "blobStructs" && expression.type.kind === "binary";
  const layout = wrapsBlobs ? LARGE_BINARY : layoutOf(arrowFieldFromLogical(field, path).type, path);
  return {
    index: fields.indexOf(field),
    field,
    wrapsBlobs,
    *evaluate(columns, rowCount) {
      const values = yield* evaluateOver(expression, inputs, columns, rowCount);
      if (field.type.kind !== "json") return storedColumn(values, layout, path);
      if (!isText) return storedColumn(values, JSONB_LAYOUT, path);
      return (yield* lazySteps(json)).jsonbColumn(values as LeafColumn, path);
    },
  };
}

const LARGE_BINARY: VariableLayout = { kind: "variable", offsetBits: 64, text: false };

/** Returns the type to which new values of a column are cast. JSON comes as text, blobs as their bytes. */
function assignedType(field: TableField, valueType: ValueType): ValueType {
  const type = valueTypeOfField(field);
  if (field.type.kind === "json" && valueType.kind !== "other" && valueType.kind !== "null") return STRING;
  if (storageOf(field) === "blobStructs" && valueType.kind !== "struct" && valueType.kind !== "null") {
    return { kind: "binary", large: true };
  }
  return type;
}

/** A column, or a member of one, that an expression needs. */
interface Input {
  readonly index: number;
  /** Index of the member in each struct on the path to it. */
  readonly members: readonly number[];
}

function inputAt(fields: readonly TableField[], [name, ...names]: readonly string[]): Input {
  const index = fields.findIndex((field) => field.name === name);
  let field = fields[index];
  const members = names.map((member) => {
    const position = field.children.findIndex((child) => child.name === member);
    if (position < 0) throw new InternalError(`no member ${member} of ${field.name}`);
    field = field.children[position];
    return position;
  });
  return { index, members };
}

function evaluateOver(
  expression: BoundExpression,
  inputs: readonly Input[],
  columns: readonly Column[],
  rowCount: number,
): Steps<Column> {
  const operands = inputs.map(({ index, members }) => unwrapStructs(columns[index], members));
  return expression.evaluate(operands, rowCount);
}
