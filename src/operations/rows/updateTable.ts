/** UpdateTable: sets columns of rows that a predicate selects. Always creates a version. */

import { tagOf } from "../../bytes/anyRealm.js";
import { InvalidInputError } from "../../errors.js";
import { lit } from "../../expression/build.js";
import { formatFieldPath } from "../../ident.js";
import type { FilterValue } from "../../namespace/queries.js";
import { type Assignment, planAssignments } from "../../write/changes/assignments.js";
import { updateMatching } from "../../write/changes/updateMatching.js";
import { filterOf, parametersOf, textOfFilter } from "../filter.js";
import { rowProgress } from "../longWork.js";
import type { OperationBody } from "../operation.js";
import { requireStrings } from "../request.js";
import { openWritable } from "../snapshot.js";

export const updateTable: OperationBody<"updateTable"> = async (context, request) => {
  const { params, signal, properties } = request;
  const assignments = [...assignedBySql(request.updates ?? []), ...assignedValues(request.values ?? {})];
  if (assignments.length === 0) throw new InvalidInputError("updates: must name at least one column");
  const predicate = request.predicate ?? "true";
  textOfFilter(predicate, "predicate");
  const parameters = parametersOf(params);
  const onRows = rowProgress(request);
  const table = await openWritable(context, request);
  const { committed, transactionId, change } = await updateMatching(
    table,
    async (fields, base) => ({
      filter: await filterOf(base, predicate, parameters, "predicate", signal),
      assignments: await planAssignments(fields, assignments, parameters, signal),
    }),
    { signal, onRows },
  );
  return {
    transactionId,
    version: committed.version,
    updatedRows: change.updatedRows,
    ...(properties && { properties }),
  };
};

function assignedBySql(updates: unknown): Assignment[] {
  if (!Array.isArray(updates)) throw new InvalidInputError("updates: must be a list");
  return updates.map((update: unknown, index) => {
    const label = `updates[${index}]`;
    const [path, value, ...others] = requireStrings(update, label);
    if (value === undefined || others.length > 0) {
      throw new InvalidInputError(`${label}: must be the path of a column and an expression`);
    }
    return { path, value, label };
  });
}

function assignedValues(values: unknown): Assignment[] {
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new InvalidInputError("values: must be an object with a value for each column");
  }
  return Object.entries(values).map(([name, value]) => {
    const path = formatFieldPath([name]);
    return { path, value: lit(plainValue(value)), passed: value, label: `values.${path}` };
  });
}

/** Returns a copy, because the caller may change its arrays before the update is planned again. */
function plainValue(value: unknown): FilterValue {
  if (value === undefined) return null;
  if (ArrayBuffer.isView(value)) {
    const tag = tagOf(value);
    if (tag === "Uint8Array") return (value as Uint8Array).slice();
    if (tag !== "DataView") return Array.from(value as unknown as ArrayLike<number | bigint>);
  }
  return Array.isArray(value) ? value.map(plainValue) : (value as FilterValue);
}
