/** A route: one operation on the wire. Its members follow the table of operations. */

import { z } from "zod";
import { type OperationName, operationRow } from "../../operationTable.js";
import { type WireForms, type WireMember, wireMembers } from "./members.js";
import * as shape from "./shapes.js";

export interface Route {
  readonly operation: OperationName;
  readonly summary: string;
  /** The first method is the documented one. Existing clients also use the others. */
  readonly methods: readonly ("GET" | "POST")[];
  /** Path with parameters in braces. `{id}` is the identifier of an object. */
  readonly path: string;
  /** Kind of object that `{id}` names. A transaction's id is not a path of names. */
  readonly object: "namespace" | "table" | "transaction" | "none";
  /** True if the body may name a table although the path has no `{id}`. */
  readonly takesBodyId: boolean;
  /** Members that come in the query. */
  readonly query: z.ZodObject;
  /**
   * Members of the JSON body, besides `id`, `identity` and `context`. `arrow`: an Arrow IPC stream of rows.
   * {@link WholeBody}: the whole JSON object is one member.
   */
  readonly body: z.ZodObject | "arrow" | WholeBody;
  /** Form of the answer: a record, one member of the engine's answer, a bare value, nothing, or rows. */
  readonly answer:
    | z.ZodObject
    | { readonly member: string; readonly schema: z.ZodType }
    | { readonly bare: z.ZodType }
    /** A stream of server-sent events, each with a record that has a `version`. */
    | { readonly events: z.ZodObject }
    | "nothing"
    | "rows";
  readonly status: 200 | 201 | 202;
}

/** A JSON body that is one member of the request. */
interface WholeBody {
  readonly member: string;
  readonly schema: z.ZodType;
}

interface AnswerOptions extends Partial<Pick<Route, "methods" | "answer" | "takesBodyId" | "status">> {}

/** Options of a route. Names are those of the wire. */
interface RouteOptions extends AnswerOptions {
  /** Forms of members that differ from the table of members. */
  readonly members?: WireForms;
  /** Members that are taken from the query and not from the body. */
  readonly inQuery?: readonly WireMember[];
  /** Members that may come in the query or in the body. */
  readonly inEither?: readonly WireMember[];
  readonly body?: WholeBody;
}

/** Options of a route whose members are listed. */
export interface ListedRouteOptions extends AnswerOptions {
  readonly query?: z.ZodRawShape;
  readonly body?: z.ZodRawShape | "arrow" | WholeBody;
}

const POST = ["POST"] as const;
export const GET = ["GET"] as const;
/** Methods of operations that only read. Some clients call them with GET and without a body. */
export const POST_OR_GET = ["POST", "GET"] as const;
const emptyAnswer = z.object({});

/** Returns a route with the operation's members. They come in the query string if the body holds rows. */
export function route(
  operation: OperationName,
  path: string,
  summary: string,
  { members: forms = {}, inQuery = [], inEither = [], body, ...options }: RouteOptions,
): Route {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const omitted: readonly string[] = inPath.filter((name) => !Object.hasOwn(forms, name));
  const members = Object.entries(wireMembers(operation, forms)).filter(([name]) => !omitted.includes(name));
  const { takesRows } = operationRow(operation);
  if (takesRows || body !== undefined || options.methods === GET) {
    const query = Object.fromEntries(members.filter(([name]) => name !== body?.member));
    return makeRoute(operation, path, summary, { ...options, query, body: takesRows ? "arrow" : body });
  }
  const queried: readonly string[] = [...inQuery, ...inEither];
  const onlyQueried: readonly string[] = inQuery;
  return makeRoute(operation, path, summary, {
    ...options,
    query: {
      ...Object.fromEntries(members.filter(([name]) => queried.includes(name))),
      ...(options.answer === "rows" ? { non_finite: shape.nonFinite } : {}),
    },
    body: Object.fromEntries(members.filter(([name]) => !onlyQueried.includes(name))),
  });
}

/** Returns a route with listed members, such as those of a dialect that the operation lacks. */
export function makeRoute(
  operation: OperationName,
  path: string,
  summary: string,
  {
    methods = POST,
    query = {},
    body = {},
    answer = emptyAnswer,
    takesBodyId = false,
    status = 200,
  }: ListedRouteOptions,
): Route {
  const object = !path.includes("{id}")
    ? "none"
    : path.startsWith("/v1/namespace/")
      ? "namespace"
      : path.startsWith("/v1/transaction/")
        ? "transaction"
        : "table";
  const isWhole = body === "arrow" || ("member" in body && typeof body.member === "string");
  return {
    operation,
    summary,
    methods,
    path,
    object,
    query: z.object(query),
    body: isWhole ? (body as "arrow" | WholeBody) : z.object({ ...body, ...shape.common }),
    answer,
    takesBodyId,
    status,
  };
}

/** Returns a route about a namespace. */
export const ofNamespace = (operation: OperationName, tail: string, summary: string, options: RouteOptions) =>
  route(operation, `/v1/namespace/{id}/${tail}`, summary, options);

/** Returns a route about a table. */
export const ofTable = (operation: OperationName, tail: string, summary: string, options: RouteOptions) =>
  route(operation, `/v1/table/{id}/${tail}`, summary, options);
