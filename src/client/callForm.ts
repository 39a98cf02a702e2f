/** Puts the request of an operation into the form of its route: path, query, headers and JSON body. */

import { z } from "zod";
import { InvalidInputError, UnsupportedError } from "../errors.js";
import { parseIdentifier } from "../ident.js";
import type { Identity } from "../namespace/request.js";
import { operationRow } from "../operationTable.js";
import { shortly } from "../optionMembers.js";
import { jsonMap, jsonValues } from "../rest/wire/members.js";
import { reasonOfIssue } from "../rest/wire/reasons.js";
import type { Route } from "../rest/wire/route.js";
import { camelCase, toWholeWire } from "../rest/wire/wireNames.js";
import { isSqlExpression, jsonValue } from "./jsonValues.js";
import { checkHeaders, type HeaderRecord } from "./restOptions.js";

export type Members = Readonly<Record<string, unknown>>;

/** A request without its rows. */
export interface CallForm {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderRecord;
  /** JSON body; undefined if the route has none, or takes rows. */
  readonly json: unknown;
}

/** Members that the client itself reads, or that only make a call faster. */
const OF_CLIENT: ReadonlySet<string> = new Set([
  ...["id", "identity", "context", "signal", "schema", "memory", "onProgress", "progress"],
  ...["batchSize", "batchBytes", "maxRows", "maxBatchBytes", "useScalarIndex"],
]);
/** Members that lead to other objects. An id may be a text or a list of names. */
const ID_MEMBERS: ReadonlySet<string> = new Set(["id", "newNamespaceId"]);
/** Prefix of headers with the context, for requests whose body can't hold it. */
const CONTEXT_PREFIX = "x-lance-ctx-";

/**
 * Returns a request in the form of its route.
 * @param id checked id of the request
 * @throws InvalidInputError for values that HTTP can't carry; UnsupportedError for members of the server
 */
export function callForm(route: Route, request: Members, id: readonly string[], delimiter: string): CallForm {
  refuseOthers(route, request);
  const [method] = route.methods;
  const { id: _, identity, context, signal: __, ...others } = request;
  const members = jsonMembers(others);
  const isBodyObject = method !== "GET" && route.body instanceof z.ZodObject;
  const target = targetOf(route, members, id, delimiter);
  return {
    method,
    target,
    headers: {
      ...identityHeaders(identity as Identity | undefined),
      ...(isBodyObject ? {} : contextHeaders(context)),
    },
    json: method === "GET" ? undefined : bodyOf(route, { ...members, context, id: bodyId(route, id) }),
  };
}

/** Refuses members that the route does not have, such as those that only the program of a server sets. */
function refuseOthers({ operation, path, query, body }: Route, request: Members): void {
  const names = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    ...Object.keys(query.shape),
    ...(body instanceof z.ZodObject ? Object.keys(body.shape) : body === "arrow" ? [] : [body.member]),
  ].map(camelCase);
  const { ignored = {} } = operationRow(operation);
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || names.includes(name)) continue;
    if (OF_CLIENT.has(name) || Object.hasOwn(ignored, name)) continue;
    throw new UnsupportedError(`${name}: is not available over HTTP`);
  }
}

/** Returns the members of a request as JSON values. */
function jsonMembers(request: Members): Members {
  const members = Object.entries(request).filter(([, value]) => typeof value !== "function");
  const adapted = members.map(([name, value]): [string, unknown] => [
    name,
    idsAsLists(adaptedMember(name, value)),
  ]);
  return jsonValue(Object.fromEntries(adapted), "request") as Members;
}

/** Changes members whose form on the wire is narrower than in the engine. */
function adaptedMember(name: string, value: unknown): unknown {
  if (name === "columns" && Array.isArray(value) && value.some(isSqlExpression)) {
    // In a list, the wire has paths only.
    return { columnAliases: Object.fromEntries(value.map((each) => [String(each), String(each)])) };
  }
  if (name === "on" && typeof value === "string") return [value];
  // JSON leaves out what is undefined, which sets a column to null.
  if (name === "values" && isPlainObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([column, each]) => [column, each ?? null]));
  }
  if (name === "jobId" && typeof value === "object" && value !== null)
    return (value as { jobId?: unknown }).jobId;
  if (ID_MEMBERS.has(name) && typeof value === "string") return parseIdentifier(value);
  if (name === "query" && typeof value === "object" && value !== null) return adaptedMembers(value);
  return value;
}

const adaptedMembers = (members: object): Members =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, adaptedMember(name, value)]));

/** Returns the parts of a batch with their ids as lists of names. */
function idsAsLists(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((entry: unknown) => {
    if (!isPlainObject(entry)) return entry;
    const parts = Object.entries(entry).map(([name, part]): [string, unknown] => [
      name,
      isPlainObject(part) && "id" in part ? adaptedMembers(part) : adaptedMember(name, part),
    ]);
    return Object.fromEntries(parts);
  });
}

const isPlainObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Replaces the wire's name of a member at the start of a text with the engine's name. */
export function nameMemberAsEngine({ query, body }: Route, text: string): string {
  const [member] = /^\w+(?=\b)/.exec(text) ?? [""];
  const isMember =
    Object.hasOwn(query.shape, member) || (body instanceof z.ZodObject && Object.hasOwn(body.shape, member));
  return isMember ? camelCase(member) + text.slice(member.length) : text;
}

// ------------------------------------------------------------------------------------------ path, query

function targetOf(route: Route, members: Members, id: readonly string[], delimiter: string): string {
  const query = queryOf(route, members);
  if (delimiter !== "$" && route.object !== "none") query.set("delimiter", delimiter);
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (name === "id") return idSegment(id, delimiter);
    const member = camelCase(name);
    return segmentOf(members[member], member);
  });
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

function idSegment(id: readonly string[], delimiter: string): string {
  for (const part of id) {
    if (part === "") throw new InvalidInputError("id: has an empty name");
    if (part.includes(delimiter)) {
      throw new InvalidInputError(
        `id: the name ${shortly(part)} contains the delimiter ${shortly(delimiter)}`,
      );
    }
  }
  return segmentOf(id.length === 0 ? delimiter : id.join(delimiter), "id");
}

/** Returns a text as a segment of a path. */
function segmentOf(value: unknown, member: string): string {
  if (typeof value !== "string" || value === "") {
    throw new InvalidInputError(`${member}: must be a text of at least one character, not ${shortly(value)}`);
  }
  // A URL has no such segments: `fetch` would resolve them.
  if (value === "." || value === "..")
    throw new InvalidInputError(`${member}: must not be ${shortly(value)}`);
  try {
    return encodeURIComponent(value);
  } catch {
    throw new InvalidInputError(`${member}: is not well-formed Unicode`);
  }
}

function queryOf({ query: schema, body, methods }: Route, members: Members): URLSearchParams {
  const query = new URLSearchParams();
  const isGet = methods[0] === "GET";
  const inBody = !isGet && body instanceof z.ZodObject ? body.shape : {};
  const form = isGet && body instanceof z.ZodObject ? schema.extend(body.shape) : schema;
  const values = wireMembers(form, members);
  for (const [name, schema] of Object.entries(form.shape)) {
    if (Object.hasOwn(inBody, name)) continue;
    const value = schema === jsonMap || schema === jsonValues ? textOf(values[name]) : values[name];
    // In a query, the text "10" could not be told from the number.
    const { error } = (schema as z.ZodType).safeParse(value);
    if (error !== undefined)
      throw new InvalidInputError(`${camelCase(name)}: ${reasonOfIssue(error.issues[0])}`);
    if (Array.isArray(value)) for (const item of value) query.append(name, String(item));
    else if (value !== undefined) query.set(name, String(value));
  }
  return query;
}

/** Returns the JSON of a map, for a query. A text stays. */
const textOf = (value: unknown): unknown => (typeof value === "object" ? JSON.stringify(value) : value);

// ------------------------------------------------------------------------------------------ headers, body

function identityHeaders(identity: Identity | undefined): HeaderRecord {
  const { apiKey, authToken } = identity ?? {};
  return checkHeaders({
    ...(apiKey !== undefined && { "x-api-key": apiKey }),
    ...(authToken !== undefined && { authorization: `Bearer ${authToken}` }),
  });
}

function contextHeaders(context: unknown): HeaderRecord {
  if (context === undefined || context === null) return {};
  const entries = Object.entries(context).map(([key, value]): [string, unknown] => {
    if (key !== key.toLowerCase() || !/^[ -~]*$/.test(String(value))) {
      throw new InvalidInputError(
        `context: ${shortly(key)} travels as a header here, so it needs a key in lower case and a value in ASCII`,
      );
    }
    return [CONTEXT_PREFIX + key, value];
  });
  return checkHeaders(Object.fromEntries(entries));
}

/** Returns the id for the body, if the path has none. */
const bodyId = (route: Route, id: readonly string[]): readonly string[] | undefined =>
  route.takesBodyId && id.length > 0 ? id : undefined;

function bodyOf({ body }: Route, members: Members): unknown {
  if (body === "arrow") return undefined;
  if (body instanceof z.ZodObject) return wireMembers(body, members);
  return toWholeWire(body.schema, members[body.member]) ?? null;
}

/** Returns the members of a request that a schema has, with their names on the wire. */
function wireMembers({ shape }: z.ZodObject, members: Members): Members {
  const converted = Object.entries(shape).map(([name, schema]): [string, unknown] => [
    name,
    toWholeWire(schema as z.ZodType, members[camelCase(name)]),
  ]);
  return Object.fromEntries(converted.filter(([, value]) => value !== undefined));
}
