/** AlterTableAlterColumns: changes names, nullability and types of columns, all or none. */

import { typeFromJson } from "../../arrow/types/schemaJson.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import type { ParsedAlteration } from "../../write/columns/alterColumns.js";
import { alterColumns } from "../../write/columns/changeColumns.js";
import type { OperationBody } from "../operation.js";
import { rowProgress } from "../progress.js";
import { isAbsent, optionalBoolean, optionalString } from "../request.js";
import { requireObjects, requireString } from "../requestValues.js";
import { openWritable } from "../snapshot.js";

export const alterTableAlterColumns: OperationBody<"alterTableAlterColumns"> = async (context, request) => {
  const alterations = requireObjects(request.alterations, "alterations").map(checkedAlteration);
  const { signal } = request;
  const onRows = rowProgress(request);
  const table = await openWritable(context, request);
  const { committed, transactionId } = await alterColumns(table, alterations, { signal, onRows });
  return { transactionId, version: committed.version };
};

function checkedAlteration(alteration: Readonly<Record<string, unknown>>, index: number): ParsedAlteration {
  const member = `alterations[${index}]`;
  const path = requireString(alteration.path, `${member}.path`);
  if (!isAbsent(alteration.virtualColumn)) {
    throw new UnsupportedError(
      `${member}.virtualColumn: the declaration of a computed column cannot be altered; drop the column and add it again`,
    );
  }
  const rename = optionalString(alteration.rename, `${member}.rename`);
  const nullable = optionalBoolean(alteration.nullable, `${member}.nullable`);
  const type = isAbsent(alteration.dataType) ? undefined : typeFromJson(alteration.dataType, path);
  if (rename === undefined && nullable === undefined && type === undefined) {
    throw new InvalidInputError(`${member}: rename, nullable or dataType is needed`);
  }
  return { path, rename, nullable, type };
}
