/**
 * The dialect of LanceDB's servers (`db://`): what its released client sends and takes that deviates from the
 * interface. `rest/dialects/remoteClient` is the server's side of it.
 *
 *     paths of tables                     end with a slash; a `$` stays as it is
 *     tables of the root                  GET /v1/table/
 *     a table exists                      describe
 *     rows by id or offset                a query with a filter
 *     queries                             k for limit; a vector is a list, which is empty without one
 *     create_index                        metric_type for distance_type; an index is replaced by default
 *     modes of namespaces                 in PascalCase, in quotes inside the text
 *     rename                              new_namespace for new_namespace_id
 *     merge_insert                        the timeout in a header too
 *     tags/list                           answers with the map itself
 *     jobs                                paths, members and states of their own; no request waits for a job
 */

import { performance } from "../../async/timers.js";
import { checkedAnswer } from "../../client/answers.js";
import type { CallForm, Members } from "../../client/callForm.js";
import type { ClientDialect, ServerCalls } from "../../client/clientDialect.js";
import { pause } from "../../client/transport.js";
import { InvalidInputError } from "../../errors.js";
import type { Job, JobState, ListJobsResponse } from "../../namespace/jobs.js";
import type { OperationName } from "../../operationTable.js";
import { job } from "../../rest/wire/shapes.js";
import { camelCase, snakeCase } from "../../rest/wire/wireNames.js";
import { errorOfFailure } from "../../typedErrors.js";
import { afterRetries, errorOfServer } from "./serverErrors.js";

type Json = Record<string, unknown>;

/** Number of rows that means all of them. */
const ALL_ROWS = Number.MAX_SAFE_INTEGER;
/** Milliseconds between two looks at a job. */
const POLL_MS = 250;

/** Returns the dialect. The statuses are those after which a request may be repeated. */
export const remoteDialect = (passingStatuses: readonly number[]): ClientDialect => ({
  passingStatuses: new Set(passingStatuses),
  outgoing: ({ operation, path, object }, form) => {
    const changed = OUTGOING[operation]?.(form) ?? form;
    const [target, query] = changed.target.split("?");
    // Paths of tables have a last slash; those of namespaces and jobs don't.
    const isTable = object === "table" || path === "/v1/table";
    const shown = target.replaceAll("%24", "$") + (isTable && !target.endsWith("/") ? "/" : "");
    return {
      ...changed,
      target: query === undefined ? shown : `${shown}?${query}`,
    };
  },
  incoming: ({ operation }, json) => INCOMING[operation]?.((json ?? {}) as Json) ?? json,
  errorOf: errorOfServer,
  afterRetries,
  calls: { waitForJob, listJobs },
});

// ------------------------------------------------------------------------------------------ requests

const withBody = (form: CallForm, change: (body: Json) => Json): CallForm => ({
  ...form,
  json: change({ ...(form.json as Json) }),
});

const OUTGOING: Partial<Record<OperationName, (form: CallForm) => CallForm>> = {
  listTables: (form) => ({
    ...form,
    target: form.target.replace(/^\/v1\/namespace\/%24\/table\/list/, "/v1/table/"),
  }),
  createNamespace: (form) => withBody(form, quotedModes),
  dropNamespace: (form) => withBody(form, quotedModes),
  createTable: (form) => ({ ...form, target: targetOfCreation(form.target) }),
  tableExists: (form) => ({ ...form, target: form.target.replace(/\/exists(?=\?|$)/, "/describe") }),
  takeTableRows: (form) => ({
    ...withBody(form, takeBody),
    target: form.target.replace(/\/take(?=\?|$)/, "/query"),
  }),
  describeTableIndexStats: (form) => withBody(form, ({ index_name: _, ...body }) => body),
  alterTableAlterColumns: (form) =>
    withBody(form, ({ alterations, ...body }) => ({
      ...body,
      alterations: (alterations as readonly Json[]).map(withTypeObject),
    })),
  mergeInsertIntoTable: (form) => ({ ...form, headers: { ...form.headers, ...timeoutHeader(form.target) } }),
  renameTable: (form) =>
    withBody(form, ({ new_namespace_id, ...body }) => ({
      ...body,
      ...(new_namespace_id !== undefined && { new_namespace: new_namespace_id }),
    })),
  queryTable: (form) => withBody(form, queryBody),
  analyzeTableQueryPlan: (form) => withBody(form, queryBody),
  explainTableQueryPlan: (form) =>
    withBody(form, ({ query, ...body }) => ({ ...body, query: queryBody({ ...(query as Json) }) })),
  createTableIndex: (form) => withBody(form, indexBody),
  createTableScalarIndex: (form) => withBody(form, indexBody),
  describeJob: (form) => jobForm(form, "describe"),
  cancelJob: (form) => jobForm(form, "cancel"),
};

/** Returns the target of a creation, with a mode and without options of the server's storage. */
function targetOfCreation(target: string): string {
  const [path, query = ""] = target.split("?");
  const parameters = new URLSearchParams(query);
  if (!parameters.has("mode")) parameters.set("mode", "create");
  parameters.delete("storage_options");
  return `${path}?${parameters}`;
}

/** Returns a query for rows by their ids or offsets. */
function takeBody({ row_ids, offsets, ...body }: Json): Json {
  const [column, values] = row_ids === undefined ? ["_rowoffset", offsets] : ["_rowid", row_ids];
  const list = Array.isArray(values) ? values.map(String) : [];
  const wrong = list.find((each) => !/^\d+$/.test(each));
  if (wrong !== undefined) throw new InvalidInputError(`rows: ${wrong} is neither an id nor an offset`);
  return queryBody({ ...body, filter: list.length === 0 ? "false" : `${column} IN (${list.join(", ")})` });
}

/** Returns a change of a column whose type is an object, not a text. */
const withTypeObject = (alteration: Json): Json =>
  typeof alteration.data_type === "string"
    ? { ...alteration, data_type: { type: alteration.data_type } }
    : alteration;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Returns the header for a timeout such as `30s`. */
function timeoutHeader(target: string): Record<string, string> {
  const timeout = new URLSearchParams(target.split("?")[1] ?? "").get("timeout");
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(timeout ?? "") ?? [];
  if (amount === undefined || unit === undefined) return {};
  return { "x-request-timeout-ms": String(Math.round(Number(amount) * (UNITS[unit] as number))) };
}

/** `exist_ok` → `"ExistOk"`, with the quotes. */
function quotedModes(body: Json): Json {
  for (const member of ["mode", "behavior"]) {
    const value = body[member];
    if (typeof value !== "string") continue;
    const pascalCase = camelCase(value.toLowerCase());
    body[member] = `"${pascalCase[0]?.toUpperCase()}${pascalCase.slice(1)}"`;
  }
  return body;
}

function indexBody({ distance_type, replace, ...body }: Json): Json {
  return {
    ...body,
    ...(distance_type !== undefined && { metric_type: distance_type }),
    ...(replace !== true && { replace: false }),
  };
}

function queryBody(body: Json): Json {
  const { limit, k, predicate, where, filter, vector, columns, order_by, nprobes, text, ...others } = body;
  const wanted = filter ?? predicate ?? where;
  const vectors = vectorOf(vector);
  const probes = nprobes === undefined ? {} : { nprobes, minimum_nprobes: nprobes, maximum_nprobes: nprobes };
  return {
    prefilter: true,
    version: null,
    ...others,
    ...probes,
    vector: vectors ?? [],
    k: k ?? limit ?? (vectors === undefined ? ALL_ROWS : 10),
    ...(wanted !== undefined && { filter: wanted }),
    ...(columns !== undefined && { columns: columnsOf(columns) }),
    ...(order_by !== undefined && { order_by: orderOf(order_by) }),
    ...(text !== undefined && { full_text_query: { query: text, columns: [] } }),
    ...("full_text_query" in body && { full_text_query: textQueryOf(body.full_text_query as Json) }),
  };
}

function vectorOf(vector: unknown): unknown {
  if (typeof vector !== "object" || vector === null || Array.isArray(vector)) return vector;
  const { single_vector, multi_vector } = vector as Json;
  return single_vector ?? multi_vector;
}

function columnsOf(columns: unknown): unknown {
  if (typeof columns === "string") return [columns];
  if (Array.isArray(columns)) return columns;
  const { column_names, column_aliases } = columns as Json;
  return column_names ?? column_aliases;
}

/** Returns columns to sort by as objects. */
function orderOf(order: unknown): readonly Json[] {
  return (Array.isArray(order) ? order : [order]).flatMap((each: unknown): Json[] => {
    if (typeof each === "string") {
      const isDescending = each.startsWith("-");
      return [
        { column_name: isDescending ? each.slice(1) : each, ascending: !isDescending, nulls_first: false },
      ];
    }
    const column = each as Json;
    if ("column_name" in column) return [{ ascending: true, nulls_first: false, ...column }];
    return Object.entries(column).map(([column_name, direction]) => ({
      ...{ column_name, ascending: direction === "asc", nulls_first: false },
    }));
  });
}

/** Returns a text query without the name of its form, with members in snake case. */
function textQueryOf(query: Json): unknown {
  const { string_query, stringQuery, structured_query, structuredQuery } = query;
  return inSnakeCase(string_query ?? stringQuery ?? structured_query ?? structuredQuery ?? query);
}

function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [snakeCase(name), inSnakeCase(each)]),
  );
}

function jobForm(form: CallForm, tail: string): CallForm {
  const jobId = decodeURIComponent(form.target.split("/")[3] ?? "");
  return { ...form, target: `/v1/jobs/${tail}`, json: { job_id: jobId } };
}

// ------------------------------------------------------------------------------------------ answers

const INCOMING: Partial<Record<OperationName, (json: Json) => Json>> = {
  listTableTags: (json) => ({ tags: json }),
  updateTable: ({ rows_updated, updated_rows, ...json }) => ({
    ...json,
    updated_rows: updated_rows ?? rows_updated,
  }),
  describeJob: jobOf,
  cancelJob: jobOf,
};

const STATES: Readonly<Record<string, JobState>> = {
  in_progress: "Running",
  running: "Running",
  queued: "Queued",
  done: "Succeeded",
  succeeded: "Succeeded",
  finished: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
  canceled: "Cancelled",
};

/** Returns a job in the form of the interface. Its request and failure stay, under their own names. */
function jobOf(json: Json): Json {
  const { job_id, job_state, state, job_type, creation_ms, created_at_millis, table, failure, result } = json;
  const created = Number(creation_ms ?? created_at_millis ?? 0);
  const { message } = (failure ?? {}) as Json;
  const created_at = new Date(Number.isFinite(created) ? created : 0).toISOString();
  const jobState = STATES[String(job_state ?? state).toLowerCase()] ?? "Running";
  return {
    job_id,
    kind: String(job_type ?? ""),
    table: typeof table === "string" ? table.split("$") : [],
    state: jobState,
    ...{ done: 0, unit: "rows", result },
    created_at,
    // These servers do not tell when a job ended.
    ...(jobState !== "Running" && jobState !== "Queued" && { finished_at: created_at }),
    ...(failure !== undefined &&
      failure !== null && {
        error: { code: 18, type: "Internal", message: String(message ?? "the job failed") },
      }),
  };
}

/** Lists the jobs of all pages. */
async function listJobs({ post }: ServerCalls): Promise<ListJobsResponse> {
  const jobs: Job[] = [];
  const tokens = new Set<unknown>();
  let token: unknown;
  do {
    const page = (await post("/v1/jobs/list", token === undefined ? {} : { page_token: token })) as Json;
    const listed = Array.isArray(page?.jobs) ? page.jobs : [];
    jobs.push(...listed.map((each: unknown) => checkedAnswer(job, jobOf((each ?? {}) as Json)) as Job));
    token = page?.page_token ?? undefined;
    // A server that repeats a token would never end.
    if (tokens.has(token)) break;
    tokens.add(token);
  } while (token !== undefined);
  return { jobs };
}

/** Looks at a job now and then until it has ended, or until the timeout. */
async function waitForJob({ ask }: ServerCalls, request: Members): Promise<Job> {
  const { timeoutMs, onProgress, signal, ...about } = request;
  const deadlineMs =
    performance.now() + (typeof timeoutMs === "number" ? timeoutMs : Number.POSITIVE_INFINITY);
  for (;;) {
    const described = (await ask("describeJob", about)) as Job;
    (onProgress as ((described: Job) => void) | undefined)?.(described);
    const { state, error } = described;
    if (state === "Failed") {
      throw errorOfFailure({ type: "Internal", message: error?.message ?? "the job failed" });
    }
    if (state === "Succeeded" || state === "Cancelled" || performance.now() >= deadlineMs) return described;
    const leftMs = Math.max(1, deadlineMs - performance.now());
    await pause(Math.min(POLL_MS, leftMs), signal as AbortSignal | undefined);
  }
}
