/** Turns a request's path, query, headers and body into the request object of an engine's operation. */

import { z } from "zod";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { DEFAULT_DELIMITER, parseIdentifier } from "../../ident.js";
import type { Identity } from "../../namespace/request.js";
import { Refusal } from "./problem.js";
import type { Route } from "./route.js";
import { identity } from "./shapes.js";
import { refuseMisspeltParameters, refuseUnknownMembers } from "./unknownMembers.js";
import { camelCase, fromWire } from "./wireNames.js";

/** The parts of a request. */
export interface WireRequest {
  readonly route: Route;
  readonly method: string;
  /** Parameters of the path, with percent escapes as they came. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** The parsed JSON of the body; undefined if there is no JSON body. */
  readonly json: unknown;
  /** Whether a plus sign in the path is a space, unless the body says that it is a plus sign. */
  readonly pathIsForm: boolean;
}

/** The caller's credentials in a request; headers win over the body. */
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
 * The request for the engine, except rows and signal.
 * @throws InvalidInputError naming the member that does not fit
 */
export function engineRequest(wire: WireRequest): Readonly<Record<string, unknown>> {
  const { route, method } = wire;
  const { body } = route;
  refuseLog(wire);
  const request: Record<string, unknown> = {};
  let bodyId: readonly string[] | undefined;
  if (body instanceof z.ZodObject) {
    // A GET request has no body: the body's members are in the query.
    const schema = method === "GET" ? route.query.extend(body.shape) : route.query;
    refuseMisspeltParameters(Object.keys(schema.shape), Object.keys(body.shape), wire.query);
    Object.assign(request, check(schema, queryMembers(schema, wire.query)));
    if (method !== "GET") {
      const json = jsonObject(wire.json);
      refuseUnknownMembers(route.operation, body, json);
      const members = check(body, json);
      bodyId = members.id as readonly string[] | undefined;
      Object.assign(request, members);
    }
  } else {
    refuseMisspeltParameters(Object.keys(route.query.shape), [], wire.query);
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
  if (typeof request.storageOptions === "string") {
    parseStrings(request.storageOptions, "storage_options");
    // They say how to reach an object store. The engine writes into the server's own directory.
    delete request.storageOptions;
  }
  for (const [name, value] of Object.entries(wire.parameters)) {
    if (name === "id") continue;
    const member = camelCase(name);
    const named = decodeSegment(value, name, false);
    if ((request[member] ?? named) !== named) {
      throw new InvalidInputError(`${name}: the path and the body name different ones`);
    }
    request[member] = named;
  }
  // The caller was identified from more than the body.
  delete request.identity;
  delete request.id;
  if (route.object !== "none") request.id = readId(wire, bodyId);
  else if (route.takesBodyId && bodyId !== undefined) request.id = bodyId;
  const context = contextOf(wire.headers, request.context as Readonly<Record<string, string>> | undefined);
  if (context !== undefined) request.context = context;
  return request;
}

/**
 * Refuses `use_lsm`, by which LanceDB's clients ask for rows in a log beside the table's versions: without the log,
 * rows would be missing.
 */
function refuseLog({ query, json }: WireRequest): void {
  const asksForLog = (members: unknown) =>
    typeof members === "object" && members !== null && "use_lsm" in members && members.use_lsm === true;
  const { query: inner } = (json ?? {}) as { readonly query?: unknown };
  if (
    asksForLog(json) ||
    asksForLog(inner) ||
    query.getAll("use_lsm").some((given) => /^true$/i.test(given))
  ) {
    throw new UnsupportedError("use_lsm: tables written through a log are not supported by this release");
  }
}

/**
 * Drops empty lists of a `vector`, and a `vector` without lists. The namespace spec requires the member, so its clients
 * send `{}` or `{"single_vector": []}` with a query that does not search vectors.
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
  throw new InvalidInputError(`${member === "" ? "the body" : member}: ${reasonOf(issue)}`);
}

function reasonOf({ message }: z.core.$ZodIssue): string {
  if (message.endsWith("received undefined")) return "is required";
  const reason = message.replace(/^Invalid input: /, "");
  return reason[0].toLowerCase() + reason.slice(1);
}

/** Replaces the engine's name of a request member at the start of a text by the wire's name. */
export function nameMemberAsWire({ query, body }: Route, text: string): string {
  const [member] = /^\w+(?=\b)/.exec(text) ?? [""];
  const names = [
    ...Object.keys(query.shape),
    ...(body instanceof z.ZodObject ? Object.keys(body.shape) : []),
  ];
  const wireName = names.find((name) => camelCase(name) === member);
  return wireName === undefined ? text : wireName + text.slice(member.length);
}

// ------------------------------------------------------------------------------------------------ query

/**
 * Members of the query, converted to their types. Texts that can't be converted stay texts, for the schema to refuse.
 */
function queryMembers(schema: z.ZodObject, query: URLSearchParams): Readonly<Record<string, unknown>> {
  const members: Record<string, unknown> = {};
  for (const [name, declared] of Object.entries(schema.shape)) {
    const given = query.getAll(name);
    if (given.length === 0) continue;
    const type = innermost(declared as z.ZodType);
    if (type instanceof z.ZodArray) {
      members[name] = given;
      continue;
    }
    if (given.length > 1) throw new InvalidInputError(`${name}: is given ${given.length} times`);
    members[name] = typed(type, given[0]);
  }
  return members;
}

function innermost(type: z.ZodType): z.ZodType {
  return type instanceof z.ZodOptional || type instanceof z.ZodNullable
    ? innermost(type.unwrap() as z.ZodType)
    : type;
}

function typed(type: z.ZodType, given: string): unknown {
  if (type instanceof z.ZodNumber) return /^-?\d{1,17}$/.test(given) ? Number(given) : given;
  if (type instanceof z.ZodBoolean) return BOOLEANS.get(given.toLowerCase()) ?? given;
  return given;
}

const BOOLEANS = new Map([
  ["true", true],
  ["false", false],
]);

/** Parses a JSON object of strings. Errors don't show it: it may contain credentials. */
function parseStrings(text: string, member: string): unknown {
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

// ------------------------------------------------------------------------------------------------ id

/**
 * The id that the path names. An id in the body must be the same, and decides whether a plus sign in the path, which
 * may stand for either, is a space.
 */
function readId(wire: WireRequest, bodyId: readonly string[] | undefined): readonly string[] {
  const { route, parameters, query } = wire;
  const segment = parameters.id;
  const delimiters = query.getAll("delimiter");
  if (delimiters.length > 1) throw new InvalidInputError("delimiter: is given more than once");
  const delimiter = delimiters[0] ?? DEFAULT_DELIMITER;
  if (route.object === "transaction") {
    const named = parseIdentifier(decodeSegment(segment, "id", false), delimiter);
    // A transaction's id may follow its table's, in the path or in the body.
    if (bodyId === undefined || isSameId(named, bodyId)) return named;
    return [...bodyId, ...named];
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

// ------------------------------------------------------------------------------------------------ context

/** The context of the body and of the headers; the headers win. */
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
    if (key === "__proto__") throw new Refusal(400, "InvalidInput", `${name}: is no name of a member`);
    ofHeaders.push([key, value]);
  });
  if (ofHeaders.length === 0) return ofBody;
  return { ...ofBody, ...Object.fromEntries(ofHeaders) };
}
