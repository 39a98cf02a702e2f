/**
 * The dialect of LanceDB's remote client (`connect("db://…")`): what it sends and expects that deviates from
 * the interface and the namespace spec. Routes that only this client has are in remoteRoutes.ts.
 *
 *     request                                               here
 *     mode, behavior with quotes inside the string          taken off
 *     rename: new_namespace                                 new_namespace_id
 *     create_index: metric_type                             distance_type
 *     query: vector [], k beyond exact integers, aliases    no vector, no limit, column_aliases
 *     query: nprobes beside minimum_nprobes                 the latter
 *     query: approx_mode                                    left out: all answers are exact enough
 *     create_index: options of tokenizers for code, unset   left out
 *     restore: version null                                 the latest
 *     GET /v1/table                                         tables of the root, not of all namespaces
 *     a plus sign in a path                                 itself
 *
 *     answer                                                here
 *     describe: schema in a vocabulary of its own           made from the Arrow schema
 *     tags/list: the map itself                             not wrapped
 *     update: rows_updated                                  in addition to updated_rows
 *     index/list, stats: a type that it does not know       Unknown: it would refuse the whole answer
 *     a table that exists already                           400: the client recognises it by status and text
 *     a tag that exists already                             400: after a 409 the client would try again
 *     a missing column or tag                               400: the client takes any 404 for a missing table
 *     an unknown operation                                  406, for the same reason
 *     capabilities of the server                            phalanx-version: without it, the client sends
 *                                                           structured text queries as words only
 */

import { z } from "zod";
import { exactSchemaJson } from "../../arrow/types/exactSchemaJson.js";
import {
  TableAlreadyExistsError,
  TableColumnNotFoundError,
  TableTagAlreadyExistsError,
  TableTagNotFoundError,
} from "../../errors.js";
import type { DescribeTableIndexStatsResponse, ListTableIndicesResponse } from "../../namespace/indexes.js";
import type { UpdateTableResponse } from "../../namespace/rows.js";
import type { DescribeTableResponse } from "../../namespace/tables.js";
import type { DescribeTableVersionResponse } from "../../namespace/versions.js";
import { Refusal } from "../wire/problem.js";
import type { Route } from "../wire/route.js";
import { ROUTES } from "../wire/routes.js";
import { count, tagContents, version } from "../wire/shapes.js";
import { callEngine, type Dialect, type EngineCall, isGenerated } from "./dialect.js";
import { performOf, REMOTE_ROUTES } from "./remoteRoutes.js";

type Members = Record<string, unknown>;

/** Name of the client, unless its program has chosen another one. */
const REMOTE_AGENT = /^LanceDB-\w+-Client\//i;

/**
 * True if a request comes from this client. It names its database in every request, numbers its requests, and
 * sends the delimiter only if it is not `$`. Clients of the namespace spec for LanceDB's own servers also
 * name the database, but speak the interface. The spec's client in Rust always sends the delimiter and has no
 * name.
 */
export function isRemoteClient(headers: Headers, url: URL): boolean {
  if (!headers.has("x-lancedb-database")) return false;
  const agent = headers.get("user-agent") ?? "";
  if (REMOTE_AGENT.test(agent)) return true;
  if (!headers.has("x-request-id") || isGenerated(headers)) return false;
  const delimiter = url.searchParams.get("delimiter");
  return delimiter === null || (agent !== "" && delimiter !== "$");
}

/** Errors that are sent with status 400, because the client expects it or misinterprets their own status. */
const ARE_400 = [
  ...[TableAlreadyExistsError, TableTagAlreadyExistsError],
  ...[TableColumnNotFoundError, TableTagNotFoundError],
];

export const REMOTE_DIALECT: Dialect = {
  routes: [...ROUTES, ...REMOTE_ROUTES],
  pathsAreForms: false,
  opensFiles: false,
  takesJsonRows: () => false,
  readBody(route, json) {
    if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
    if (performOf(route) !== undefined) return knownMembers(route, json as Members);
    return BODIES[route.operation]?.({ ...json }) ?? json;
  },
  perform: (call) => (performOf(call.route) ?? CALLS[call.route.operation] ?? callEngine)(call),
  answerOf: ({ operation, answer }) => ANSWERS[operation] ?? answer,
  headers: { "phalanx-version": "0.3.0" },
  statusOf(error) {
    if (ARE_400.some((kind) => error instanceof kind)) return 400;
    return error instanceof Refusal && error.status === 404 ? 406 : undefined;
  },
};

const ANSWERS: Partial<Record<Route["operation"], Route["answer"]>> = {
  listTableTags: { member: "tags", schema: z.record(z.string(), tagContents) },
  updateTable: z.object({ updated_rows: count, rows_updated: count, version }),
};

const BODIES: Partial<Record<Route["operation"], (body: Members) => Members>> = {
  createNamespace: unquoteModes,
  dropNamespace: unquoteModes,
  renameTable: ({ new_namespace, ...body }) => ({ new_namespace_id: new_namespace, ...body }),
  // This client replaces an index by default.
  createTableIndex: ({ metric_type, replace, ...body }) => ({
    distance_type: metric_type,
    replace: replace ?? true,
    ...withoutUnset(body, CODE_OPTIONS),
  }),
  queryTable: readQuery,
  analyzeTableQueryPlan: readQuery,
  explainTableQueryPlan: (body) =>
    typeof body.query === "object" && body.query !== null
      ? { ...body, query: readQuery({ ...(body.query as Members) }) }
      : body,
  // The schema accepts a null version only if the version is optional.
  restoreTable: (body) => ({ ...body, version: body.version ?? LATEST }),
};

/** Unsupported options of tokenizers for source code. */
const CODE_OPTIONS = [
  ...["lance_tokenizer", "index_operators", "preserve_original", "split_identifiers", "split_on_numerics"],
];

/** Removes members that a client sends unset. Set members stay and are refused. */
const withoutUnset = (body: Members, members: readonly string[]): Members =>
  Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !members.includes(name) || (value ?? false) !== false),
  );

/** Removes members that a route lacks, so that the route reports its missing feature instead. */
function knownMembers({ operation, body }: Route, json: Members): Members {
  if (operation === "listJobs" || !(body instanceof z.ZodObject)) return json;
  return Object.fromEntries(Object.entries(json).filter(([name]) => Object.hasOwn(body.shape, name)));
}

/** Stands for the latest version in a body until the call; no version has this number. */
const LATEST = Number.MAX_SAFE_INTEGER;

const CALLS: Partial<Record<Route["operation"], (call: EngineCall) => Promise<unknown>>> = {
  listAllTables: ({ namespace, request }) => namespace.listTables({ ...request, id: [] }),
  async describeTable(call) {
    const described = (await callEngine(call)) as DescribeTableResponse;
    if (described.schema === undefined) return described;
    const { identity, context, principal, id, branch, tag, signal } = call.request as Members;
    const { schema } = await call.namespace.queryTable({
      ...{ identity, context, principal, branch, tag, signal },
      id: id as string[],
      ...(tag === undefined || tag === null ? { version: described.version } : {}),
    } as Parameters<typeof call.namespace.queryTable>[0]);
    return { ...described, schema: exactSchemaJson(schema) };
  },
  async updateTable(call) {
    const updated = (await callEngine(call)) as UpdateTableResponse;
    return { ...updated, rowsUpdated: updated.updatedRows };
  },
  async listTableIndices(call) {
    const response = (await callEngine(call)) as ListTableIndicesResponse;
    return { ...response, indexes: response.indexes.map(withKnownType) };
  },
  describeTableIndexStats: async (call) =>
    withKnownType((await callEngine(call)) as DescribeTableIndexStatsResponse),
  async restoreTable(call) {
    if (call.request.version !== LATEST) return callEngine(call);
    const { version: _, ...request } = call.request;
    const latest = (await call.namespace.describeTableVersion({
      ...request,
      id: request.id as string[],
    })) as DescribeTableVersionResponse;
    return callEngine({ ...call, request: { ...request, version: latest.version.version } });
  },
};

/** Types of indexes that the client knows. */
const KNOWN_TYPES = new Set([
  ...["BTREE", "BITMAP", "LABEL_LIST", "FTS", "FM", "IVF_FLAT", "IVF_SQ", "IVF_PQ", "IVF_RQ"],
  ...["IVF_HNSW_FLAT", "IVF_HNSW_SQ", "IVF_HNSW_PQ"],
]);

const withKnownType = <T extends { readonly indexType?: string }>(index: T): T =>
  KNOWN_TYPES.has(index.indexType ?? "") ? index : { ...index, indexType: "Unknown" };

function unquoteModes(body: Members): Members {
  for (const member of ["mode", "behavior"]) {
    const value = body[member];
    if (typeof value === "string") body[member] = value.replace(/^"(.*)"$/, "$1");
  }
  return body;
}

function readQuery(body: Members): Members {
  if (Array.isArray(body.vector) && body.vector.length === 0) delete body.vector;
  if (typeof body.k === "number" && body.k > Number.MAX_SAFE_INTEGER) delete body.k;
  // The client also sends the minimum number of partitions under the older name.
  if ("minimum_nprobes" in body) delete body.nprobes;
  delete body.approx_mode;
  const { columns } = body;
  const isMap = typeof columns === "object" && columns !== null && !Array.isArray(columns);
  if (isMap && !("column_names" in columns) && !("column_aliases" in columns)) {
    body.columns = { column_aliases: columns };
  }
  return body;
}
