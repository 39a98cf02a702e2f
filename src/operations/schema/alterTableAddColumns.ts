/**
 * AlterTableAddColumns: adds columns that are null, the same constant in every row, or computed from others: at once, or by a
 * backfill.
 */

import { typeFromJson } from "../../arrow/types/schemaJson.js";
import { InvalidInputError } from "../../errors.js";
import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { AlterTableAddColumnsRequest, AlterTableAddColumnsResponse } from "../../namespace/schema.js";
import type { AddedColumn } from "../../write/columns/addColumns.js";
import { addColumns } from "../../write/columns/changeColumns.js";
import { functionNamed, type RegisteredFunction } from "../../write/userFunctions.js";
import type { OperationContext } from "../context.js";
import { rowProgress } from "../longWork.js";
import {
  isAbsent,
  optionalString,
  optionalStringMap,
  requireObjects,
  requireString,
  requireStrings,
} from "../request.js";
import { openWritable } from "../snapshot.js";

export async function alterTableAddColumns(
  context: OperationContext,
  request: AlterTableAddColumnsRequest,
): Promise<AlterTableAddColumnsResponse> {
  const added = requireObjects(request.newColumns, "newColumns").map((given, index) =>
    checkedColumn(given, `newColumns[${index}]`, context.functions),
  );
  const { signal } = request;
  const onRows = rowProgress(request);
  const table = await openWritable(context, request);
  const { committed, transactionId } = await addColumns(table, added, { signal, onRows });
  return { transactionId, version: committed.version };
}

/** The members of which a column has one. */
const RULES = ["expression", "dataType", "computed", "virtualColumn"] as const;

function checkedColumn(
  given: Readonly<Record<string, unknown>>,
  member: string,
  functions: ReadonlyMap<string, RegisteredFunction>,
): AddedColumn {
  const name = requireString(given.name, `${member}.name`);
  const present = RULES.filter((rule) => !isAbsent(given[rule]));
  if (present.length !== 1) {
    const told = present.length === 0 ? "" : `, not ${present.join(" and ")}`;
    throw new InvalidInputError(`${member}: one of ${RULES.join(", ")} is needed${told}`);
  }
  const metadata = optionalStringMap(given.metadata, `${member}.metadata`);
  const [rule] = present;
  if (rule === "dataType") {
    const type = typeFromJson(given.dataType, name);
    return { name, type, metadata: new Map(Object.entries(metadata ?? {})) };
  }
  if (metadata !== undefined) throw new InvalidInputError(`${member}.metadata: goes with dataType only`);
  if (rule === "expression")
    return { name, expression: requireString(given.expression, `${member}.expression`) };
  if (rule === "computed") return { name, computed: requireString(given.computed, `${member}.computed`) };
  return { name, ...checkedVirtual(given.virtualColumn, `${member}.virtualColumn`, functions) };
}

function checkedVirtual(
  given: unknown,
  member: string,
  functions: ReadonlyMap<string, RegisteredFunction>,
): { readonly filledBy: RegisteredFunction; readonly metadata: ReadonlyMap<string, string> } {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new InvalidInputError(`${member}: must be an object`);
  }
  const { udfName, udfVersion, inputColumns, fieldMetadata } = given as Readonly<Record<string, unknown>>;
  const filledBy = functionNamed(functions, requireString(udfName, `${member}.udfName`), `${member}.udfName`);
  const version = optionalString(udfVersion, `${member}.udfVersion`);
  if (version !== undefined && version !== filledBy.version) {
    throw new InvalidInputError(
      `${member}.udfVersion: version ${filledBy.version} of function ${filledBy.name} is registered, not ${version}`,
    );
  }
  if (!isAbsent(inputColumns)) {
    const inputs = requireStrings(inputColumns, `${member}.inputColumns`).map((path) =>
      formatFieldPath(parseFieldPath(path)),
    );
    if (JSON.stringify(inputs) !== JSON.stringify(filledBy.inputs)) {
      throw new InvalidInputError(
        `${member}.inputColumns: function ${filledBy.name} is registered with ${filledBy.inputs.join(", ")}, not ${inputs.join(", ")}`,
      );
    }
  }
  const metadata = optionalStringMap(fieldMetadata, `${member}.fieldMetadata`);
  return { filledBy, metadata: new Map(Object.entries(metadata ?? {})) };
}
