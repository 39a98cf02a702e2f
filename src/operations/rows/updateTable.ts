/** UpdateTable: sets columns of rows that a predicate selects. Always creates a version. */

import { binaryOf, iterableItems } from "../../arrow/objects/valueKinds.js";
import { isDate, tagOf } from "../../bytes/anyRealm.js";
import { InvalidInputError } from "../../errors.js";
import { formatFieldPath } from "../../ident.js";
import { type Assignment, planAssignments } from "../../write/changes/assignments.js";
import { updateMatching } from "../../write/changes/updateMatching.js";
import { filterOf, parametersOf } from "../filter.js";
import { textOfFilter } from "../filterText.js";
import type { OperationBody } from "../operation.js";
import { rowProgress } from "../progress.js";
import { requireStrings } from "../requestValues.js";
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
    return { path, expression: value, label };
  });
}

function assignedValues(values: unknown): Assignment[] {
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new InvalidInputError("values: must be an object with a value for each column");
  }
  return Object.entries(values).map(([name, value]) => {
    const path = formatFieldPath([name]);
    return { path, value: copyOf(value, 0), label: `values.${path}` };
  });
}

/** Maximum levels of nesting. Also stops at values that contain themselves. */
const MAX_DEPTH = 64;

/** Returns a copy, because the caller may change the value before the update is planned again. */
function copyOf(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new InvalidInputError(`values: nested deeper than ${MAX_DEPTH} levels`);
  if (typeof value !== "object" || value === null) return value;
  if (isDate(value)) return new Date(value.getTime());
  // `slice` of a Buffer would share its memory.
  if (ArrayBuffer.isView(value) && tagOf(value) !== "DataView") return Uint8Array.prototype.slice.call(value);
  const bytes = binaryOf(value);
  if (bytes !== null) return bytes.slice();
  const items = iterableItems(value);
  if (items !== null) return Array.from(items, (item) => copyOf(item, depth + 1));
  if (!isPlain(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, copyOf(member, depth + 1)]);
  return Object.fromEntries(members);
}

/** True for objects that inherit no members from a class. */
function isPlain(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
