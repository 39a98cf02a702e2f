/**
 * Refuses unknown members of bodies. A misspelt condition would otherwise mean none, and an update would
 * change every row. A member that is null counts as absent.
 * So are unknown parameters of the query. The exceptions are what released clients send.
 */

import { z } from "zod";
import { nearestName } from "../../nearestName.js";
import type { OperationName } from "../../operationTable.js";
import { unknownMember } from "../../optionMembers.js";
import { Refusal } from "./problem.js";
import { camelCase } from "./wireNames.js";

/** Member that LanceDB adds to bodies and queries. An earlier check refuses the value true. */
const USE_LSM = "use_lsm";
/** Parameters that any route accepts. LanceDB asks for metrics of the workers that analyse a plan. */
const ANY_ROUTE: ReadonlySet<string> = new Set([USE_LSM, "delimiter", "distributed_metrics"]);
const COMMON = ["id", "identity", "context"];

/** Members of the namespace spec without effect here, by operation. A dot leads into objects or lists. */
const IGNORED: Partial<Record<OperationName, readonly string[]>> = {
  batchCommitTables: [
    ...["declare_table", "create_table_version", "delete_table_versions", "deregister_table"],
  ].flatMap((part) => COMMON.map((member) => `operations.${part}.${member}`)),
  explainTableQueryPlan: COMMON.concat(USE_LSM).map((member) => `query.${member}`),
  // Other engines use these members to run the function of a column.
  alterTableAddColumns: [
    ...["outputs", "image", "udf", "udf_backend", "auto_backfill", "manifest", "manifest_checksum"],
  ].map((member) => `new_columns.virtual_column.${member}`),
};

/**
 * Checks the members of a body.
 * @throws Refusal naming the first unknown member, and the most similar known one
 */
export function refuseUnknownMembers(operation: OperationName, schema: z.ZodType, body: unknown): void {
  check(schema, body, "", [USE_LSM, ...(IGNORED[operation] ?? [])]);
}

/**
 * Checks the parameters of a query.
 * @param parameters parameters of the route
 * @param members members of the route's body
 * @throws Refusal naming the first unknown parameter, and the most similar known one
 */
export function refuseUnknownParameters(
  parameters: readonly string[],
  members: readonly string[],
  query: URLSearchParams,
): void {
  for (const name of query.keys()) {
    if (ANY_ROUTE.has(name) || parameters.includes(name)) continue;
    const resolved = resolvedName(name, [...parameters, ...members]);
    if (resolved !== undefined && !parameters.includes(resolved)) {
      throw refusal(`${shown(name)}: there is no such parameter; ${resolved} is a member of the body`);
    }
    const names = resolved === undefined ? parameters : [resolved];
    throw refusal(unknownMember(name, resolved ?? name, names, "parameter").message);
  }
}

/**
 * Checks the members of a value.
 * @param path path of the value, with a final dot unless it is the body
 */
function check(schema: z.core.$ZodType, value: unknown, path: string, ignored: readonly string[]): void {
  if (typeof value !== "object" || value === null) return;
  const forms = alternatives(schema);
  if (Array.isArray(value)) {
    const items = forms.flatMap((each) => (each instanceof z.ZodArray ? [each.element] : []));
    for (const [index, item] of value.entries()) {
      // Vectors have many items without members.
      if (typeof item !== "object" || item === null) continue;
      for (const element of items) check(element, item, `${path}${index}.`, ignored);
    }
    return;
  }
  const objects = forms.filter((each) => each instanceof z.ZodObject);
  if (objects.length === 0) return;
  // A map has members of its caller's choice.
  if (forms.some((each) => each instanceof z.ZodRecord && each.safeParse(value).success)) return;
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

const shown = (name: string): string => name.slice(0, 200);

/** Returns a refusal in the spelling of the request. */
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

/** Returns the name that a client most likely meant. Names are compared in camelCase. */
function resolvedName(name: string, names: readonly string[]): string | undefined {
  const resolved = nearestName(camelCase(name), names.map(camelCase));
  return names.find((each) => camelCase(each) === resolved);
}
