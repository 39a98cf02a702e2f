/** AlterTableAlterColumns: changes names, nullability and types of columns; all the changes or none. */

import { typeFromJson } from "../../arrow/types/schemaJson.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import type {
  AlterTableAlterColumnsRequest,
  AlterTableAlterColumnsResponse,
} from "../../namespace/schema.js";
import type { ParsedAlteration } from "../../write/columns/alterColumns.js";
import { alterColumns } from "../../write/columns/changeColumns.js";
import type { OperationContext } from "../context.js";
import { rowProgress } from "../longWork.js";
import { isAbsent, optionalBoolean, optionalString, requireObjects, requireString } from "../request.js";
import { openWritable } from "../snapshot.js";

export async function alterTableAlterColumns(
  context: OperationContext,
  request: AlterTableAlterColumnsRequest,
): Promise<AlterTableAlterColumnsResponse> {
  const alterations = requireObjects(request.alterations, "alterations").map(checkedAlteration);
  const { signal } = request;
  const onRows = rowProgress(request);
  const table = await openWritable(context, request);
  const { committed, transactionId } = await alterColumns(table, alterations, { signal, onRows });
  return { transactionId, version: committed.version };
}

function checkedAlteration(given: Readonly<Record<string, unknown>>, index: number): ParsedAlteration {
  const member = `alterations[${index}]`;
  const path = requireString(given.path, `${member}.path`);
  if (!isAbsent(given.virtualColumn)) {
    throw new UnsupportedError(
      `${member}.virtualColumn: the declaration of a computed column cannot be altered; drop the column and add it again`,
    );
  }
  const rename = optionalString(given.rename, `${member}.rename`);
  const nullable = optionalBoolean(given.nullable, `${member}.nullable`);
  const type = isAbsent(given.dataType) ? undefined : typeFromJson(given.dataType, path);
  if (rename === undefined && nullable === undefined && type === undefined) {
    throw new InvalidInputError(`${member}: rename, nullable or dataType is needed`);
  }
  return { path, rename, nullable, type };
}
