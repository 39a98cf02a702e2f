/** AlterTableAddColumns: adds columns that are null, constant, computed now, or computed by a backfill. */

import { typeFromJson } from "../../arrow/types/schemaJson.js";
import { InvalidInputError } from "../../errors.js";
import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { AddedColumn } from "../../write/columns/addColumns.js";
import { addColumns } from "../../write/columns/changeColumns.js";
import { functionNamed } from "../../write/functionOutputs.js";
import type { RegisteredFunction } from "../../write/userFunctions.js";
import type { OperationBody } from "../operation.js";
import { rowProgress } from "../progress.js";
import { isAbsent, optionalString } from "../request.js";
import { optionalStringMap, requireObjects, requireString, requireStrings } from "../requestValues.js";
import { openWritable } from "../snapshot.js";

export const alterTableAddColumns: OperationBody<"alterTableAddColumns"> = async (context, request) => {
  const added = requireObjects(request.newColumns, "newColumns").map((column, index) =>
    checkedColumn(column, `newColumns[${index}]`, context.functions),
  );
  const { signal } = request;
  const onRows = rowProgress(request);
  const table = await openWritable(context, request);
  const { committed, transactionId } = await addColumns(table, added, { signal, onRows });
  return { transactionId, version: committed.version };
};

/** Members of a column, exactly one of which is required. */
const RULES = ["expression", "dataType", "computed", "virtualColumn"] as const;

function checkedColumn(
  column: Readonly<Record<string, unknown>>,
  member: string,
  functions: ReadonlyMap<string, RegisteredFunction>,
): AddedColumn {
  const name = requireString(column.name, `${member}.name`);
  const present = RULES.filter((rule) => !isAbsent(column[rule]));
  if (present.length !== 1) {
    const reason = present.length === 0 ? "" : `, not ${present.join(" and ")}`;
    throw new InvalidInputError(`${member}: one of ${RULES.join(", ")} is needed${reason}`);
  }
  const metadata = optionalStringMap(column.metadata, `${member}.metadata`);
  const [rule] = present;
  if (rule === "dataType") {
    const type = typeFromJson(column.dataType, name);
    return { name, type, metadata: new Map(Object.entries(metadata ?? {})) };
  }
  if (metadata !== undefined)
    throw new InvalidInputError(`${member}.metadata: is allowed only with dataType`);
  if (rule === "expression")
    return { name, expression: requireString(column.expression, `${member}.expression`) };
  if (rule === "computed") return { name, computed: requireString(column.computed, `${member}.computed`) };
  return { name, ...checkedVirtual(column.virtualColumn, `${member}.virtualColumn`, functions) };
}

function checkedVirtual(
  virtualColumn: unknown,
  member: string,
  functions: ReadonlyMap<string, RegisteredFunction>,
): { readonly filledBy: RegisteredFunction; readonly metadata: ReadonlyMap<string, string> } {
  if (typeof virtualColumn !== "object" || virtualColumn === null || Array.isArray(virtualColumn)) {
    throw new InvalidInputError(`${member}: must be an object`);
  }
  const { udfName, udfVersion, inputColumns, fieldMetadata } = virtualColumn as Readonly<
    Record<string, unknown>
  >;
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
