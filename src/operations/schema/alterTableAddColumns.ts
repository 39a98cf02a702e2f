/** AlterTableAddColumns: adds columns that are null, the same constant in every row, or computed from others. */

import { typeFromJson } from "../../arrow/types/schemaJson.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import type { AlterTableAddColumnsRequest, AlterTableAddColumnsResponse } from "../../namespace.js";
import type { AddedColumn } from "../../write/columns/addColumns.js";
import { addColumns } from "../../write/columns/changeColumns.js";
import type { OperationContext } from "../context.js";
import { isAbsent, optionalString, optionalStringMap, requireObjects, requireString } from "../request.js";
import { openWritable } from "../snapshot.js";

export async function alterTableAddColumns(
  context: OperationContext,
  request: AlterTableAddColumnsRequest,
): Promise<AlterTableAddColumnsResponse> {
  const added = requireObjects(request.newColumns, "newColumns").map(checkedColumn);
  const table = await openWritable(context, request);
  const { committed, transactionId } = await addColumns(table, added, request.signal);
  return { transactionId, version: committed.version };
}

function checkedColumn(given: Readonly<Record<string, unknown>>, index: number): AddedColumn {
  const member = `newColumns[${index}]`;
  const name = requireString(given.name, `${member}.name`);
  for (const unsupported of ["computed", "virtualColumn"]) {
    if (isAbsent(given[unsupported])) continue;
    throw new UnsupportedError(
      `${member}.${unsupported}: computed columns are not supported by this release`,
    );
  }
  const expression = optionalString(given.expression, `${member}.expression`);
  const metadata = optionalStringMap(given.metadata, `${member}.metadata`);
  if ((expression === undefined) === isAbsent(given.dataType)) {
    throw new InvalidInputError(`${member}: either expression or dataType is needed`);
  }
  if (expression === undefined) {
    const type = typeFromJson(given.dataType, name);
    return { name, type, metadata: new Map(Object.entries(metadata ?? {})) };
  }
  if (metadata !== undefined) throw new InvalidInputError(`${member}.metadata: goes with dataType only`);
  return { name, expression };
}
