/** Turns a request's path, query, headers and body into the request of an operation. */

import { z } from "zod";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { DEFAULT_DELIMITER, parseIdentifier } from "../../ident.js";
import type { Identity } from "../../namespace/request.js";
import { Refusal } from "./problem.js";
import { reasonOfIssue } from "./reasons.js";
import type { Route } from "./route.js";
import { identity, value as valueForm } from "./shapes.js";
import { refuseUnknownMembers, refuseUnknownParameters } from "./unknownMembers.js";
import { camelCase, fromWire } from "./wireNames.js";

/** Parts of a request. */
export interface WireRequest {
  readonly route: Route;
  readonly method: string;
  /** Parameters of the path, with percent escapes. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** Parsed JSON body; undefined without one. */
  readonly json: unknown;
  /** True if a plus sign in the path means a space, unless the body contradicts. */
  readonly pathIsForm: boolean;
}

/** Returns the caller's credentials. Headers take precedence over the body. */
export function callerIdentity(headers: Headers, json: unknown): Identity | undefined {
  const ofBody = identitySchema.safeParse(json);
  const { api_key, auth_token } = (ofBody.success && ofBody.data.identity) || {};
  const bearer = /^bearer +(.*)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const apiKey = headers.get("x-api-key") ?? api_key ?? undefined;
  const authToken = bearer ?? auth_token ?? undefined;
  return apiKey === undefined && authToken === undefined ? undefined : { apiKey, authToken };
}

const identitySchema = z.object({ identity: identity.nullish() });
const CONTEXT_PREFIXES = ["x-lance-ctx-", "x-ns-ctx-"] as const;

/**
 * Returns the request for the engine, without rows and signal.
 * @throws InvalidInputError naming the invalid member
 */
export function engineRequest(wire: WireRequest): Readonly<Record<string, unknown>> {
  const { route, method } = wire;
  const { body } = route;
  refuseLog(wire);
  const request: Record<string, unknown> = {};
  let bodyId: readonly string[] | undefined;
  if (body instanceof z.ZodObject) {
    // A GET request has no body, so the body's members are in the query.
    const schema = method === "GET" ? route.query.extend(body.shape) : route.query;
    refuseUnknownParameters(Object.keys(schema.shape), Object.keys(body.shape), wire.query);
    Object.assign(request, check(schema, queryMembers(schema, wire.query)));
    if (method !== "GET") {
      const json = jsonObject(wire.json);
      refuseUnknownMembers(route.operation, body, json);
      const members = check(body, json);
      bodyId = members.id as readonly string[] | undefined;
      Object.assign(request, members);
    }
  } else {
    refuseUnknownParameters(Object.keys(route.query.shape), [], wire.query);
    Object.assign(request, check(route.query, queryMembers(route.query, wire.query)));
    if (body !== "arrow") {
      // An empty body would be a request to remove everything.
      if (wire.json === undefined || wire.json === null) throw new InvalidInputError("the body is required");
      request[body.member] = checkWhole(body.schema, jsonObject(wire.json));
    }
  }
  for (const query of [request, request.query]) dropEmptyVectors(query);
  if (typeof request.properties === "string") {
    request.properties = parseStrings(request.properties, "properties");
  }
  if (typeof request.params === "string") request.params = parseParams(request.params);
  if (typeof request.storageOptions === "string") {
    // Others describe an object store, but the engine writes to its own directory.
    request.storageOptions = ofNewTable(parseStrings(request.storageOptions, "storage_options"));
  }
  for (const [name, value] of Object.entries(wire.parameters)) {
    if (name === "id") continue;
    const member = camelCase(name);
    const pathValue = decodeSegment(value, name, false);
    if ((request[member] ?? pathValue) !== pathValue) {
      throw new InvalidInputError(`${name}: the path and the body have different values`);
    }
    request[member] = pathValue;
  }
  // The caller was identified by more than the body.
  delete request.identity;
  delete request.id;
  if (route.object !== "none") request.id = readId(wire, bodyId);
  else if (route.takesBodyId && bodyId !== undefined) request.id = bodyId;
  const context = contextOf(wire.headers, request.context as Readonly<Record<string, string>> | undefined);
  if (context !== undefined) request.context = context;
  return request;
}

/** Refuses `use_lsm`, which requests rows in a log beside the versions: without it, rows are missing. */
function refuseLog({ query, json }: WireRequest): void {
  const asksForLog = (members: unknown) =>
    typeof members === "object" && members !== null && "use_lsm" in members && members.use_lsm === true;
  const { query: inner } = (json ?? {}) as { readonly query?: unknown };
  if (asksForLog(json) || asksForLog(inner) || query.getAll("use_lsm").some((text) => /^true$/i.test(text))) {
    throw new UnsupportedError("use_lsm: tables written through a log are not supported by this release");
  }
}

/**
 * Removes empty lists of a `vector`, and a `vector` without lists. The namespace spec requires the member, so
 * its clients send `{}` or `{"single_vector": []}` without a vector search.
 */
function dropEmptyVectors(query: unknown): void {
  if (typeof query !== "object" || query === null) return;
  const members = query as { vector?: unknown };
  const { vector } = members;
  if (typeof vector !== "object" || vector === null || Array.isArray(vector)) return;
  const lists = Object.entries(vector).filter(([, list]) => Array.isArray(list) && list.length > 0);
  if (lists.length === 0) delete members.vector;
  else members.vector = Object.fromEntries(lists);
}

function jsonObject(json: unknown): Readonly<Record<string, unknown>> {
  if (json === undefined || json === null) return {};
  if (typeof json !== "object" || Array.isArray(json)) {
    throw new InvalidInputError("the body must be a JSON object");
  }
  return json as Readonly<Record<string, unknown>>;
}

function check(
  schema: z.ZodObject,
  value: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return fromWire(schema, checkWhole(schema, value)) as Readonly<Record<string, unknown>>;
}

function checkWhole(schema: z.ZodType, value: unknown): unknown {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const member = issue.path.map(String).join(".");
  throw new InvalidInputError(`${member === "" ? "the body" : member}: ${reasonOfIssue(issue)}`);
}

/** Replaces the engine's name of a member at the start of a text with the wire's name. */
export function nameMemberAsWire({ query, body }: Route, text: string): string {
  const [member] = /^\w+(?=\b)/.exec(text) ?? [""];
  const names = [
    ...Object.keys(query.shape),
    ...(body instanceof z.ZodObject ? Object.keys(body.shape) : []),
  ];
  const wireName = names.find((name) => camelCase(name) === member);
  return wireName === undefined ? text : wireName + text.slice(member.length);
}

// -------------------------------------------------------------------------------- query

/** Returns the query's members, converted. An inconvertible text stays, and the schema refuses it. */
function queryMembers(schema: z.ZodObject, query: URLSearchParams): Readonly<Record<string, unknown>> {
  const members: Record<string, unknown> = {};
  for (const [name, declared] of Object.entries(schema.shape)) {
    const texts = query.getAll(name);
    if (texts.length === 0) continue;
    const type = innermost(declared as z.ZodType);
    if (type instanceof z.ZodArray) {
      members[name] = texts;
      continue;
    }
    if (texts.length > 1) throw new InvalidInputError(`${name}: occurs ${texts.length} times`);
    members[name] = typed(type, texts[0]);
  }
  return members;
}

function innermost(type: z.ZodType): z.ZodType {
  return type instanceof z.ZodOptional || type instanceof z.ZodNullable
    ? innermost(type.unwrap() as z.ZodType)
    : type;
}

function typed(type: z.ZodType, text: string): unknown {
  if (type instanceof z.ZodNumber) return /^-?\d{1,17}$/.test(text) ? Number(text) : text;
  if (type instanceof z.ZodBoolean) return BOOLEANS.get(text.toLowerCase()) ?? text;
  return text;
}

const BOOLEANS = new Map([
  ["true", true],
  ["false", false],
]);

/** Returns the storage options that are settings of a new table. */
const ofNewTable = (options: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(options).filter(([name]) => name.startsWith("new_table_")));

/** Parses the values of a merge's parameters. Errors omit the text, which may contain secrets. */
function parseParams(text: string): Readonly<Record<string, unknown>> {
  const refused = () => new InvalidInputError("params: must be a JSON object of values");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refused();
  }
  const checked = z.record(z.string(), valueForm).safeParse(value);
  if (!checked.success) throw refused();
  return checked.data;
}

/** Parses a JSON object of strings. Errors omit the text, which may contain credentials. */
function parseStrings(text: string, member: string): Readonly<Record<string, string>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidInputError(`${member}: must be a JSON object of strings`);
  }
  const checked = z.record(z.string(), z.string()).safeParse(value);
  if (!checked.success) throw new InvalidInputError(`${member}: must be a JSON object of strings`);
  return checked.data;
}

// -------------------------------------------------------------------------------- id

/** Returns the id in the path. The body's must equal it, and then decides what a plus sign means. */
function readId(wire: WireRequest, bodyId: readonly string[] | undefined): readonly string[] {
  const { route, parameters, query } = wire;
  const segment = parameters.id;
  const delimiters = query.getAll("delimiter");
  if (delimiters.length > 1) throw new InvalidInputError("delimiter: occurs more than once");
  const delimiter = delimiters[0] ?? DEFAULT_DELIMITER;
  if (route.object === "transaction") {
    const pathId = parseIdentifier(decodeSegment(segment, "id", false), delimiter);
    // A transaction's id may follow its table's id, in the path or in the body.
    if (bodyId === undefined || isSameId(pathId, bodyId)) return pathId;
    return [...bodyId, ...pathId];
  }
  const readings = [wire.pathIsForm, !wire.pathIsForm].map((asForm) =>
    parseIdentifier(decodeSegment(segment, "id", asForm), delimiter),
  );
  if (bodyId === undefined) return readings[0];
  const same = readings.find((reading) => isSameId(reading, bodyId));
  if (same === undefined) throw new InvalidInputError("id: the path and the body name different objects");
  return same;
}

const isSameId = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((part, index) => part === b[index]);

function decodeSegment(segment: string, name: string, asForm: boolean): string {
  try {
    return decodeURIComponent(asForm ? segment.replaceAll("+", " ") : segment);
  } catch {
    throw new Refusal(400, "InvalidInput", `${name}: the path has a malformed percent escape`);
  }
}

// -------------------------------------------------------------------------------- context

/** Merges the context of the body with that of the headers, which take precedence. */
function contextOf(
  headers: Headers,
  ofBody: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  const ofHeaders: [string, string][] = [];
  headers.forEach((value, name) => {
    const prefix = CONTEXT_PREFIXES.find((candidate) => name.startsWith(candidate));
    if (prefix === undefined || name.length === prefix.length) return;
    const key = name.slice(prefix.length);
    // As in bodies: copying this member would change the prototype of the copy.
    if (key === "__proto__")
      throw new Refusal(400, "InvalidInput", `${name}: is not allowed as the name of a member`);
    ofHeaders.push([key, value]);
  });
  if (ofHeaders.length === 0) return ofBody;
  return { ...ofBody, ...Object.fromEntries(ofHeaders) };
}
