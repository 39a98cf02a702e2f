/**
 * Refuses members of bodies that a route does not have. A misspelt condition would otherwise mean none, and an update would
 * change every row. Null stands for an absent member, also for one that the route does not have.
 *
 * Query strings may have parameters that the route does not have: proxies add some. A parameter is refused if its name is close
 * to that of a member of the route.
 */

import { z } from "zod";
import { nearestName } from "../../nearestName.js";
import type { OperationName } from "../../operationTable.js";
import { unknownMember } from "../../optionMembers.js";
import { Refusal } from "./problem.js";
import { camelCase } from "./wireNames.js";

/** Member of every body and query string; a request that sets it is refused earlier. */
const USE_LSM = "use_lsm";
const DELIMITER = "delimiter";
const COMMON = ["id", "identity", "context"];

/**
 * Members of the namespace specification that have no effect here, by operation. A dot leads into an object or into the
 * objects of a list.
 */
const IGNORED: Partial<Record<OperationName, readonly string[]>> = {
  batchCommitTables: [
    ...["declare_table", "create_table_version", "delete_table_versions", "deregister_table"],
  ].flatMap((part) => COMMON.map((member) => `operations.${part}.${member}`)),
  explainTableQueryPlan: COMMON.concat(USE_LSM).map((member) => `query.${member}`),
  // Other engines run the function of a column by these.
  alterTableAddColumns: [
    ...["outputs", "image", "udf", "udf_backend", "auto_backfill", "manifest", "manifest_checksum"],
  ].map((member) => `new_columns.virtual_column.${member}`),
};

/** @throws Refusal naming the first member that the schema does not have, and the one that was meant */
export function refuseUnknownMembers(operation: OperationName, schema: z.ZodType, body: unknown): void {
  check(schema, body, "", [USE_LSM, ...(IGNORED[operation] ?? [])]);
}

/**
 * @param parameters that the route takes
 * @param members of its body
 * @throws Refusal naming the first parameter that is misspelt or belongs into the body
 */
export function refuseMisspeltParameters(
  parameters: readonly string[],
  members: readonly string[],
  query: URLSearchParams,
): void {
  for (const name of query.keys()) {
    if (name === USE_LSM || name === DELIMITER || parameters.includes(name)) continue;
    const resolved = resolvedName(name, [...parameters, ...members]);
    if (resolved === undefined) continue;
    if (parameters.includes(resolved))
      throw refusal(unknownMember(name, resolved, [resolved], "parameter").message);
    throw refusal(`${name}: there is no such parameter; ${resolved} is a member of the body`);
  }
}

/** @param path of the value, with a dot at its end unless it is the body */
function check(schema: z.core.$ZodType, value: unknown, path: string, ignored: readonly string[]): void {
  if (typeof value !== "object" || value === null) return;
  const forms = alternatives(schema);
  if (Array.isArray(value)) {
    const items = forms.flatMap((each) => (each instanceof z.ZodArray ? [each.element] : []));
    for (const [index, item] of value.entries()) {
      // Vectors have many items, and none with members.
      if (typeof item !== "object" || item === null) continue;
      for (const element of items) check(element, item, `${path}${index}.`, ignored);
    }
    return;
  }
  const objects = forms.filter((each) => each instanceof z.ZodObject);
  if (objects.length === 0) return;
  for (const [name, member] of Object.entries(value)) {
    if (member === null) continue;
    const owner = objects.find(({ shape }) => Object.hasOwn(shape, name));
    if (owner !== undefined) check(owner.shape[name], member, `${path}${name}.`, ignored);
    else if (!ignored.includes(withoutIndexes(path + name))) {
      const names = [...new Set(objects.flatMap(({ shape }) => Object.keys(shape)))];
      const resolved = resolvedName(name, names);
      const { message } = unknownMember(
        path + name,
        resolved ?? name,
        resolved === undefined ? names : [resolved],
        "member",
      );
      throw refusal(message);
    }
  }
}

/** Keeps the spelling of the request, unlike errors of the engine. */
const refusal = (detail: string): Refusal => new Refusal(400, "InvalidInput", detail);

const withoutIndexes = (path: string): string => path.replace(/\b\d+\./g, "");

/** Returns the schemas of the forms that a value may have. */
function alternatives(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(alternatives);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return alternatives(schema.unwrap());
  }
  return [schema];
}

/** Finds the name that was meant. Names are compared in the engine's spelling: so are the words of other programs for them. */
function resolvedName(name: string, names: readonly string[]): string | undefined {
  const resolved = nearestName(camelCase(name), names.map(camelCase));
  return names.find((each) => camelCase(each) === resolved);
}
