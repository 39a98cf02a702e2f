/** DescribeComputedColumns: returns computed columns and their rows without a value. Not in the spec. */

import { formatFieldPath } from "../../ident.js";
import type { ComputedColumnState } from "../../namespace/schema.js";
import { declarationOf } from "../../schema/computedFields.js";
import { decodeSchema } from "../../schema/schema.js";
import { physicalRowCount } from "../../table/fragments/tableStatistics.js";
import { countStaleRows } from "../../write/backfill/staleRowCounts.js";
import type { OperationBody } from "../operation.js";
import { rowProgress, SeenRows } from "../progress.js";
import { requireSnapshot } from "../snapshot.js";

export const describeComputedColumns: OperationBody<"describeComputedColumns"> = async (
  context,
  request,
  access,
) => {
  const onRows = rowProgress(request);
  const snapshot = await requireSnapshot(context, request, access);
  const { manifest, path } = snapshot.file;
  const computed = decodeSchema(manifest.fields, path).flatMap((field) => {
    const declaration = declarationOf(field);
    return declaration === null ? [] : [{ field, declaration }];
  });
  const rowsOfColumn = physicalRowCount(manifest.fragments);
  const readRows = new SeenRows(onRows, rowsOfColumn * computed.length);
  const columns: ComputedColumnState[] = [];
  for (const [index, { field, declaration }] of computed.entries()) {
    const stale = await countStaleRows(snapshot, field, { signal: request.signal, onSeen: readRows.add });
    readRows.reach(rowsOfColumn * (index + 1));
    const { inputs } = declaration;
    const state = { column: formatFieldPath([field.name]), inputs, ...stale };
    if (declaration.kind === "sql") {
      columns.push({ ...state, kind: "sql", expression: declaration.expression });
      continue;
    }
    if (declaration.kind === "foreign") {
      const { declaredKind } = declaration;
      columns.push({ ...state, kind: "foreign", ...(declaredKind !== undefined && { declaredKind }) });
      continue;
    }
    const { udfName, udfVersion } = declaration;
    const registered = context.functions.get(udfName);
    const isRegistered =
      registered !== undefined && (udfVersion === undefined || udfVersion === registered.version);
    columns.push({
      ...state,
      kind: "function",
      udfName,
      ...(udfVersion !== undefined && { udfVersion }),
      isRegistered,
    });
  }
  return { columns };
};
