/**
 * A route: one operation on the wire. It is tied to the class when it is compiled: its members are those of the operation's
 * request, all of them and no others.
 */

import { z } from "zod";
import type { DirectoryNamespace } from "../../DirectoryNamespace.js";
import * as shape from "./shapes.js";

/** Names of the engine's operations. */
export type OperationName = Exclude<
  keyof DirectoryNamespace,
  "close" | "root" | "rootPaths" | "table" | symbol
>;

export interface Route {
  readonly operation: OperationName;
  readonly summary: string;
  /** The first is the documented one; clients in use also send the others. */
  readonly methods: readonly ("GET" | "POST")[];
  /** Parameters are in braces; `{id}` is an object's identifier. */
  readonly path: string;
  /** What `{id}` stands for. A transaction's id is not a path of names. */
  readonly object: "namespace" | "table" | "transaction" | "none";
  /** Whether the body of a request whose path has no `{id}` may name a table. */
  readonly takesBodyId: boolean;
  /** Members taken from the query. */
  readonly query: z.ZodObject;
  /**
   * Members taken from the body, a JSON object. Without any, only `id`, `identity` and `context` are read from it.
   * `arrow`: rows as an Arrow IPC stream. A member's name: the whole JSON object is that member.
   */
  readonly body: z.ZodObject | "arrow" | WholeBody;
  /**
   * Form of the answer: a record, the one member of the engine's answer that is sent bare, a bare value, nothing, or
   * rows.
   */
  readonly answer:
    | z.ZodObject
    | { readonly member: string; readonly schema: z.ZodType }
    | { readonly bare: z.ZodType }
    | "nothing"
    | "rows";
  readonly status: 200 | 201 | 202;
}

/** A JSON body that is one member of the request, as a whole. */
interface WholeBody {
  readonly member: string;
  readonly schema: z.ZodType;
}

export interface RouteOptions<Query = z.ZodRawShape, Body = z.ZodRawShape | "arrow" | WholeBody> {
  readonly summary: string;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer?: Route["answer"];
  readonly takesBodyId?: boolean;
  readonly status?: Route["status"];
}

/** `manifest_path` → `manifestPath`. */
type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

type RequestOf<O extends OperationName> = NonNullable<Parameters<DirectoryNamespace[O]>[0]>;

/** Names of the members of a request, or of any of its forms. */
type MembersOf<Request> = Request extends unknown ? keyof Request : never;

/**
 * Members on the wire whose names are those of the operation's request; a name that the request does not have makes the
 * route fail to compile, so that the wire and the class can't drift.
 */
type OfRequest<O extends OperationName, Shape> = {
  readonly [Name in keyof Shape]: CamelCase<Name> extends MembersOf<RequestOf<O>> ? z.ZodType : never;
};

export const POST = ["POST"] as const;
export const GET = ["GET"] as const;
/** For operations that only read and take no body, which some clients call with GET. */
export const POST_OR_GET = ["POST", "GET"] as const;
const emptyAnswer = z.object({});

/** Members that only the host of the engine sets, or the server itself. */
type HostMember =
  | "principal"
  | "unregisteredBranch"
  | "signal"
  | "memory"
  | "batchSize"
  | "batchBytes"
  | "useScalarIndex"
  | "rerank"
  | "maxColumns"
  | "onProgress";

/**
 * Nothing where requests on the wire have all members of the operation's request. Else a member that no options have: one
 * that the wire passes over would quietly mean its default, and a query read the latest version in place of a tag's.
 */
type Complete<O extends OperationName, Name> =
  Exclude<
    MembersOf<RequestOf<O>>,
    CamelCase<Name> | HostMember | keyof typeof shape.common
  > extends infer Missing
    ? [Missing] extends [never]
      ? unknown
      : { readonly missing: Missing }
    : never;

type NamesIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** A route whose requests are those of the operation. */
export function route<
  O extends OperationName,
  Path extends string,
  Query extends z.ZodRawShape = Record<never, z.ZodType>,
  Body extends z.ZodRawShape = Record<never, z.ZodType>,
>(
  operation: O,
  methods: Route["methods"],
  path: Path,
  options: RouteOptions<
    Query & OfRequest<O, Query>,
    (Body & OfRequest<O, Body>) | "arrow" | (WholeBody & { readonly member: MembersOf<RequestOf<O>> })
  > &
    Complete<O, keyof Query | keyof Body | NamesIn<Path>>,
): Route {
  return makeRoute(operation, methods, path, options as RouteOptions);
}

/** A route, possibly with members that the operation's request does not have: a dialect's. */
export function makeRoute(
  operation: OperationName,
  methods: Route["methods"],
  path: string,
  { summary, query = {}, body = {}, answer = emptyAnswer, takesBodyId = false, status = 200 }: RouteOptions,
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

export const namespacePath = <Tail extends string>(tail: Tail) => `/v1/namespace/{id}/${tail}` as const;
export const tablePath = <Tail extends string>(tail: Tail) => `/v1/table/{id}/${tail}` as const;
