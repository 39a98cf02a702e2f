/** Turns JSON answers into answers of operations, with the engine's names. */

import { z } from "zod";
import type { Route } from "../rest/wire/route.js";
import { fromWire } from "../rest/wire/wireNames.js";
import { malformedAnswer, withoutSecrets } from "./problems.js";

/** Form of an answer in JSON. */
type JsonForm = Exclude<Route["answer"], "rows" | { readonly events: unknown }>;

/**
 * Returns the answer of an operation. Members that the operation does not know are left out. Members that
 * another server leaves out, or sends as null, are absent.
 * @param json parsed body; undefined without one
 * @param secrets header values of the request, which the message must not repeat
 * @throws InternalError for a member of another type
 */
export function answerOfJson(form: JsonForm, json: unknown, secrets: readonly string[]): unknown {
  if (form === "nothing") return undefined;
  if (form instanceof z.ZodObject) return checkedAnswer(form, json ?? {}, secrets);
  if ("bare" in form) return checkedAnswer(form.bare, json, secrets);
  return { [form.member]: checkedAnswer(form.schema, json ?? {}, secrets) };
}

/** Checks a value of the wire, and returns it with the engine's names. */
export function checkedAnswer(schema: z.ZodType, json: unknown, secrets: readonly string[] = []): unknown {
  const value = withoutNulls(json);
  const checked = schema.safeParse(value);
  if (checked.success) return fromWire(schema, checked.data);
  const wrong = checked.error.issues.find(
    ({ path }) => path.length === 0 || valueAt(value, path) !== undefined,
  );
  if (wrong === undefined) return fromWire(schema, value);
  const path = wrong.path.map(String).join(".");
  // The path has keys that the server chose.
  throw malformedAnswer(withoutSecrets(`${path === "" ? "it" : path}: ${wrong.message}`, secrets));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let inner = value;
  for (const step of path) {
    if (typeof inner !== "object" || inner === null) return undefined;
    inner = (inner as Readonly<Record<PropertyKey, unknown>>)[step];
  }
  return inner;
}

/** Drops members that are null. The result of a job is its own form. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, name === "result" ? member : withoutNulls(member)]),
  );
}
