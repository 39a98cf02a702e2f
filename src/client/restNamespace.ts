/**
 * A namespace on a server. Its methods follow the table of operations, and each call follows the table of
 * routes: no operation is written here, except those whose answers are not plain JSON or rows.
 */

import type { Schema } from "apache-arrow";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import {
  InvalidInputError,
  InvalidTableStateError,
  PermissionDeniedError,
  ServiceUnavailableError,
  UnsupportedError,
} from "../errors.js";
import type { TableHandleOptions } from "../handle/handleOptions.js";
import { explainOtherNames, NAMESPACE_CALLS } from "../handle/otherNames.js";
import { setInspection } from "../inspection.js";
import type { MemoryShare } from "../memory.js";
import type { QueryResult } from "../namespace/queries.js";
import type { ObjectId } from "../namespace/request.js";
import type { RowsInput } from "../namespace/rows.js";
import type { ListTableVersionsResponse, TableVersion } from "../namespace/versions.js";
import { optionalId, optionalVersion, requireTableId } from "../operations/request.js";
import { parseChoice, requireRowOffsets } from "../operations/requestValues.js";
import { isReadOnly, OPERATIONS, type OperationName, operationRow } from "../operationTable.js";
import { checkRequestMembers } from "../requestMembers.js";
import { ARROW_STREAM, EVENT_STREAM, JSON_TYPE } from "../rest/wire/mediaTypes.js";
import type { Route } from "../rest/wire/route.js";
import { ROUTES } from "../rest/wire/routes.js";
import { membersOfSynonyms } from "../synonyms.js";
import { TableHandle } from "../TableHandle.js";
import { answerOfJson } from "./answers.js";
import { callForm, type Members, nameMemberAsEngine } from "./callForm.js";
import { type ClientDialect, INTERFACE } from "./clientDialect.js";
import { errorOfCall } from "./problems.js";
import { checkRestOptions, type RestOptions, type RestSettings } from "./restOptions.js";
import { rowsBody } from "./rowsBody.js";
import { type OpenRows, openAnswer, rowsResult } from "./rowsResult.js";
import { suitableKind } from "./suitableKind.js";
import { sortedOffsets, takenTable } from "./takenRows.js";
import { type Incoming, type RequestBody, readJsonAnswer, Transport } from "./transport.js";
import { awaitJob, type LongCalls, runAsJob } from "./waiting.js";
import { requireEvents, watchedVersions } from "./watching.js";

/** Operations of a {@link DirectoryNamespace} that a server has too. The others reject with Unsupported. */
export interface RestNamespace extends Pick<DirectoryNamespace, OperationName | "table">, AsyncDisposable {
  /** URL of the server, without a trailing slash. */
  readonly uri: string;
  /** Makes later calls fail. Calls in progress and results of earlier queries continue. */
  close(): Promise<void>;
}

/**
 * Connects to a server with Tiltyard's REST handler, or another server of the namespace spec. The result has
 * the methods of a {@link DirectoryNamespace}. Sends nothing before the first call.
 *
 *     const ns = connectRest({ uri: "https://data.example", headers: { "x-api-key": key } });
 *     const rows = await ns.table("orders").scan({ filter: "price > 10" }).toArray();
 *
 * Every method rejects with a {@link NamespaceError}, as in the process of the engine. A
 * {@link ServiceUnavailableError} of a change leaves open whether the server made it.
 * @throws InvalidInputError for invalid options
 */
export const connectRest = (options: RestOptions): RestNamespace =>
  connectDialect(options, INTERFACE).namespace;

/** A namespace on a server, and requests beside its operations. */
export interface ServerConnection {
  readonly namespace: RestNamespace;
  /**
   * Posts JSON to a path, and returns the JSON of the answer.
   * @param acceptedStatuses statuses of answers that are no errors, beside 200 to 299
   */
  post(path: string, json: unknown, acceptedStatuses?: readonly number[]): Promise<unknown>;
  /** Posts JSON to a path, and returns the rows of the answer. */
  postForRows(path: string, json: unknown): Promise<QueryResult>;
}

/**
 * Connects to a server that speaks a dialect.
 * @throws InvalidInputError for invalid options
 */
export function connectDialect(options: RestOptions, dialect: ClientDialect): ServerConnection {
  const calls = new RemoteCalls(options, dialect);
  return {
    // The static block below defines a method for each operation.
    namespace: calls as unknown as RestNamespace,
    post: (path, json, acceptedStatuses) => calls.post(path, json, { acceptedStatuses }),
    postForRows: (path, json) => calls.postForRows(path, json),
  };
}

/** Routes by the names of their operations. */
const ROUTE_OF: ReadonlyMap<OperationName, Route> = new Map(ROUTES.map((route) => [route.operation, route]));

const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

/** One call of an operation. */
interface Call {
  readonly name: OperationName;
  readonly route: Route;
  readonly request: Members;
  readonly id: readonly string[];
  readonly signal: AbortSignal | undefined;
}

/** Settings of a request beside the routes. */
interface PostOptions {
  readonly acceptedStatuses?: readonly number[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

class RemoteCalls {
  readonly #settings: RestSettings;
  readonly #transport: Transport;
  readonly #dialect: ClientDialect;
  #isClosed = false;

  static {
    for (const name of OPERATION_NAMES) {
      const method = function (this: RemoteCalls, request: Members = {}, data?: RowsInput): Promise<unknown> {
        return this.#run(name, request, data);
      };
      Object.defineProperty(method, "name", { value: name });
      Object.defineProperty(RemoteCalls.prototype, name, {
        value: method,
        configurable: true,
        writable: true,
      });
    }
    explainOtherNames(RemoteCalls.prototype, "ns", NAMESPACE_CALLS);
    setInspection(RemoteCalls.prototype, (calls) => [
      "RestNamespace",
      { uri: calls.uri, closed: calls.#isClosed || undefined },
    ]);
  }

  constructor(options: RestOptions, dialect: ClientDialect) {
    this.#settings = checkRestOptions(options);
    this.#dialect = dialect;
    this.#transport = new Transport(this.#settings, dialect);
  }

  get uri(): string {
    return this.#settings.base;
  }

  table(id: ObjectId, options: TableHandleOptions = {}): TableHandle {
    const path = Object.freeze([...requireTableId(id)]);
    return new TableHandle(this as unknown as DirectoryNamespace, path, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Checks a request as the engine does, makes the call, and unifies errors. */
  async #run(name: OperationName, request: Members, data: RowsInput | undefined): Promise<unknown> {
    const { authorizedAs: operation = name } = operationRow(name);
    const signal = (request?.signal ?? undefined) as AbortSignal | undefined;
    try {
      if (this.#isClosed) throw new ServiceUnavailableError("the namespace is closed");
      checkRequestMembers(name, request);
      signal?.throwIfAborted();
      // Rows by offsets have a route that returns them in another order.
      const route = ROUTE_OF.get(name === "takeRows" ? "takeTableRows" : name);
      if (route === undefined) throw new UnsupportedError(`${name}: is not available over HTTP`);
      const id = [...optionalId(request.id)];
      // The server reads synonyms too. This refuses those that contradict each other.
      membersOfSynonyms(name, request);
      return await this.#perform({ name, route, request: { ...request, signal }, id, signal }, data);
    } catch (error) {
      throw errorOfCall(error, operation, signal);
    }
  }

  async #perform(call: Call, data: RowsInput | undefined): Promise<unknown> {
    const { name, route, request } = call;
    if (route.object === "table") requireTableId(call.id);
    const replacement = this.#dialect.calls[name];
    if (replacement !== undefined) {
      const ask = (operation: OperationName, members: Members) => this.#askOther(call, operation, members);
      const post = (path: string, json: unknown) => this.post(path, json, { signal: call.signal });
      return replacement({ ask, post }, request);
    }
    if (name === "takeRows") return this.#take(call);
    if (route.answer === "rows") return this.#query(call);
    if (name === "watchTable") return this.#watch(call);
    if (name === "waitForJob") return awaitJob(this.#longCalls(call), request as never);
    const isJob = name === "optimizeTable" || name === "cleanupTable";
    if (isJob && (request.onProgress ?? null) !== null && request.background !== true) {
      return runAsJob(this.#longCalls(call), request);
    }
    if (route.body !== "arrow") return this.#ask(await this.#withIndexType(call));
    // The request is checked before the rows are read.
    callForm(route, request, call.id, this.#settings.delimiter);
    return this.#ask(call, await this.#rowsOf(call, data));
  }

  /** Sends a request, and reads its JSON answer. */
  #ask(call: Call, body: RequestBody | null = null): Promise<unknown> {
    const { answer } = call.route;
    return this.#send(call, body, JSON_TYPE, async (incoming) =>
      answerOfJson(
        answer as Parameters<typeof answerOfJson>[0],
        this.#dialect.incoming(call.route, await readJsonAnswer(incoming, this.#settings.maxJsonBytes)),
        incoming.secrets,
      ),
    );
  }

  #send<Result>(
    { name, route, request, id, signal }: Call,
    rows: RequestBody | null,
    accept: string,
    read: (incoming: Incoming) => Promise<Result>,
  ): Promise<Result> {
    const form = callForm(route, request, id, this.#settings.delimiter);
    const { method, target, headers, json } = this.#dialect.outgoing(route, form);
    const body = rows ?? (json === undefined ? null : { type: JSON_TYPE, content: JSON.stringify(json) });
    const isRepeatable = isReadOnly(name) || name === "waitForJob";
    const inOurWords = (text: string) => nameMemberAsEngine(route, text);
    const outgoing = {
      method,
      target,
      headers: { accept, ...headers },
      body,
      isRepeatable,
      signal,
      route: route.path,
      inOurWords,
    };
    return this.#transport.send(outgoing, read);
  }

  /** Posts JSON to a path beside the routes. */
  post(path: string, json: unknown, options: PostOptions = {}): Promise<unknown> {
    const read = (incoming: Incoming) => readJsonAnswer(incoming, this.#settings.maxJsonBytes);
    return this.#post(path, json, { ...options, accept: JSON_TYPE, read });
  }

  /** Posts JSON to a path beside the routes that answers with rows. */
  postForRows(path: string, json: unknown): Promise<QueryResult> {
    const { maxBatchBytes } = this.#settings;
    const read = (incoming: Incoming) => openAnswer(incoming, maxBatchBytes, undefined);
    return rowsResult(() => this.#post(path, json, { accept: ARROW_STREAM, read }), {}, path);
  }

  async #post<Result>(
    path: string,
    json: unknown,
    {
      accept,
      read,
      acceptedStatuses,
      signal,
    }: PostOptions & {
      readonly accept: string;
      readonly read: (incoming: Incoming) => Promise<Result>;
    },
  ): Promise<Result> {
    if (this.#isClosed) throw new ServiceUnavailableError("the namespace is closed");
    const body = { type: JSON_TYPE, content: JSON.stringify(json) };
    const outgoing = { method: "POST", target: path, headers: { accept }, body, isRepeatable: false };
    return this.#transport.send({ ...outgoing, acceptedStatuses, signal, route: path }, read);
  }

  // ------------------------------------------------------------------------------------------ rows

  #openRows(call: Call): Promise<OpenRows> {
    const { maxBatchBytes } = this.#settings;
    const memory = (call.request.memory ?? undefined) as MemoryShare | undefined;
    return this.#send(call, null, ARROW_STREAM, (incoming) => openAnswer(incoming, maxBatchBytes, memory));
  }

  #query(call: Call): Promise<unknown> {
    const { authorizedAs: operation = call.name } = operationRow(call.name);
    return rowsResult(() => this.#openRows(call), call.request, operation);
  }

  async #take(call: Call): Promise<unknown> {
    const { rowOffsets, ...request } = call.request;
    const wanted = sortedOffsets(requireRowOffsets(rowOffsets));
    const rows = await this.#openRows({ ...call, request: { ...request, offsets: wanted.offsets } });
    return takenTable(rows, wanted);
  }

  #rowsOf(call: Call, data: RowsInput | undefined): Promise<RequestBody> {
    return rowsBody(data as RowsInput, call.request, () => this.#tableSchema(call));
  }

  /** Returns the columns that rows of objects are fitted to; null if their own values decide. */
  async #tableSchema(call: Call): Promise<Schema | null> {
    const { name, request } = call;
    const modes = ["Append", "Overwrite"] as const;
    const isNew =
      name === "createTable" || parseChoice(request.mode, "mode", modes, "Append") === "Overwrite";
    return isNew ? null : this.#schemaOf(call);
  }

  /** Adds the kind of index that suits the column, because the wire needs one. */
  async #withIndexType(call: Call): Promise<Call> {
    const { name, request } = call;
    const { indexType, column } = request;
    const isIndex = name === "createTableIndex" || name === "createTableScalarIndex";
    if (!isIndex || (indexType ?? null) !== null || typeof column !== "string") return call;
    const schema = await this.#schemaOf(call, [column]);
    const field = schema?.fields[0];
    return field === undefined ? call : { ...call, request: { ...request, indexType: suitableKind(field) } };
  }

  /** Returns columns of a table. Null: it is only declared, or the caller may not read it. */
  async #schemaOf({ request, id, signal }: Call, columns?: readonly string[]): Promise<Schema | null> {
    const { identity, context, branch } = request;
    const query = { identity, context, branch, signal, columns, filter: "false" };
    const route = ROUTE_OF.get("queryTable") as Route;
    try {
      const rows = await this.#openRows({ name: "queryTable", route, request: query, id, signal });
      rows.close();
      return rows.schema;
    } catch (error) {
      // A declared table has no columns, and some callers may write rows but not read them.
      if (error instanceof InvalidTableStateError || error instanceof PermissionDeniedError) return null;
      throw error;
    }
  }

  // ------------------------------------------------------------------------------------------ jobs, watches

  #askOther(call: Call, name: OperationName, request: object): Promise<unknown> {
    return this.#ask({ ...call, name, route: ROUTE_OF.get(name) as Route, request: request as Members });
  }

  #longCalls(call: Call): LongCalls {
    const ask = (name: OperationName, request: object) => this.#askOther(call, name, request);
    return {
      start: (request) => this.#ask({ ...call, request }) as ReturnType<LongCalls["start"]>,
      wait: (request) => ask("waitForJob", request) as ReturnType<LongCalls["wait"]>,
      describe: (request) => ask("describeJob", request) as ReturnType<LongCalls["describe"]>,
      cancel: (request) =>
        this.#ask({
          ...{ name: "cancelJob", route: ROUTE_OF.get("cancelJob") as Route, id: [], signal: undefined },
          request: request as unknown as Members,
        }) as ReturnType<LongCalls["cancel"]>,
    };
  }

  async #watch(call: Call): Promise<AsyncIterable<TableVersion>> {
    const { request, signal } = call;
    const { identity, context, branch } = request;
    const { retries, delayMs } = this.#settings.retry;
    const seen = optionalVersion(request.from, "from");
    const latest = await this.#ask({
      ...call,
      ...{ name: "listTableVersions", route: ROUTE_OF.get("listTableVersions") as Route },
      request: { identity, context, branch, descending: true, limit: 1 },
    });
    const latestVersion = (latest as ListTableVersionsResponse).versions[0]?.version ?? 0;
    const from = seen ?? latestVersion;
    if (from > latestVersion) {
      throw new InvalidInputError(`from: version ${from} is later than the latest, ${latestVersion}`);
    }
    const connect = async (last: number, stop: AbortSignal | undefined): Promise<Incoming> => {
      if (this.#isClosed) throw new ServiceUnavailableError("the namespace is closed");
      const after = { ...call, request: { identity, context, branch, from: last }, signal: stop };
      return this.#send(after, null, EVENT_STREAM, async (incoming) => requireEvents(incoming));
    };
    const first = await connect(from, signal);
    return watchedVersions({ ...{ from, signal, retries, delayMs }, first, connect });
  }
}
