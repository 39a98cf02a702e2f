/**
 * The class over HTTP, for its suites: each instance asks a server of its own over a socket. It converts
 * names itself, to test the handler's conversion. Calls without a route go to the engine in the server.
 */

import * as arrow from "apache-arrow";
import { type Disk, memoryDisk } from "tiltyard/disks";
import { z } from "zod";
import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import * as errors from "../../src/errors.js";
import type { TableHandleOptions } from "../../src/handle/handleOptions.js";
import type { DirectoryNamespaceOptions } from "../../src/namespace/options.js";
import type { QueryResult } from "../../src/namespace/queries.js";
import type { RowsInput } from "../../src/namespace/rows.js";
import { resultOfBatches } from "../../src/operations/rows/resultForms.js";
import type { Route } from "../../src/rest/wire/route.js";
import { ROUTES } from "../../src/rest/wire/routes.js";
import { TableHandle } from "../../src/TableHandle.js";
import type { Framework } from "./frameworks.js";
import { type RestServer, startRestServer } from "./restServer.js";
import { onSuiteDisk } from "./suite/suiteDisk.js";

type Members = Readonly<Record<string, unknown>>;

/** Has a method for each operation of the class. */
export class RestNamespace {
  /** Lets tests skip what needs the engine in the same process. */
  static readonly overHttp = true;
  /** Framework of the servers opened from now on. */
  static framework: Framework = "node:http";
  readonly #engine: DirectoryNamespace;
  #server: Promise<RestServer> | undefined;
  /** Rows of the last call with a known schema; it sends them when the engine asks for them. */
  #sending: RowsBody | undefined;
  /** Settles once the engine has ended its last call with rows. */
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: DirectoryNamespaceOptions) {
    this.#engine = new DirectoryNamespace(onSuiteDisk(options));
    for (const operation of ["createTable", "insertIntoTable"] as const) {
      const call = this.#engine[operation].bind(this.#engine) as unknown as RowsCall;
      const watched: RowsCall = async (request, data) => {
        const sending = this.#sending;
        const result = call(request, isStream(data) ? onFirstRead(data, () => sending?.letGo()) : data);
        this.#ended = Promise.allSettled([result]);
        try {
          return await result;
        } finally {
          sending?.letGo();
        }
      };
      Object.defineProperty(this.#engine, operation, { value: watched });
    }
    for (const route of ROUTES) {
      const call = (request: Members = {}, data?: RowsInput) => this.#call(route, request, data);
      Object.defineProperty(this, route.operation, { value: call });
    }
    for (const operation of ["takeRows", "takeBlobs", "optimizeTable"] as const) {
      if (operation in this) continue;
      Object.defineProperty(this, operation, { value: this.#engine[operation].bind(this.#engine) });
    }
  }

  get root(): string {
    return this.#engine.root;
  }

  table(id: readonly string[], options: TableHandleOptions = {}): TableHandle {
    return new TableHandle(this as unknown as DirectoryNamespace, id, options);
  }

  async close(): Promise<void> {
    if (this.#server !== undefined) await (await this.#server)[Symbol.asyncDispose]();
    await this.#engine.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #call(route: Route, request: Members, data: RowsInput | undefined): Promise<unknown> {
    this.#server ??= startRestServer(this.#engine, {}, RestNamespace.framework);
    const { url } = await this.#server;
    const { target, body, type } = onTheWire(route, request, data);
    this.#sending = body instanceof RowsBody ? body : undefined;
    let answer: Response;
    try {
      answer = await fetch(url + target, {
        method: route.methods[0],
        body: (body instanceof RowsBody ? body.pieces() : body) as BodyInit | null,
        headers: type === null ? {} : { "content-type": type },
        signal: (request.signal ?? null) as AbortSignal | null,
        duplex: "half",
      } as RequestInit);
    } catch (error) {
      // Tests look at the directory next, and the engine may still remove files.
      await this.#ended;
      if (body instanceof RowsBody && body.failure !== undefined) throw body.failure;
      throw new errors.ServiceUnavailableError("the call did not come through", { cause: error });
    }
    if (!answer.ok) throw errorOf(await answer.json());
    return resultOf(route, answer);
  }
}

const JSON_TYPE = "application/json";
const ARROW_TYPE = "application/vnd.apache.arrow.stream";
/** Members whose keys belong to users. */
const MAPS = new Set([
  "properties",
  "metadata",
  "context",
  "storage_options",
  "column_aliases",
  "branches",
  "tags",
]);

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((entry) => renamed(entry, rename));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => {
    const isMap = MAPS.has(snake(name)) || (name === "fields" && !Array.isArray(member));
    return [rename(name), isMap ? member : renamed(member, rename)];
  });
  return Object.fromEntries(entries);
}

function onTheWire(route: Route, request: Members, data: RowsInput | undefined) {
  const { id = [], signal: _, principal: __, ...members } = request;
  const delimiter = String(id).includes("$") ? "::" : "$";
  const query = new URLSearchParams(delimiter === "$" ? {} : { delimiter });
  const wholeBody = route.body !== "arrow" && !(route.body instanceof z.ZodObject) ? route.body.member : null;
  const body: Record<string, unknown> = route.object === "none" && !route.takesBodyId ? {} : { id };
  let target = route.path.replace("{id}", () => segmentOf(id as readonly string[], delimiter));
  let whole: unknown;
  for (const [name, value] of Object.entries(members)) {
    const wireName = snake(name);
    if (target.includes(`{${wireName}}`)) target = target.replace(`{${wireName}}`, encode(String(value)));
    else if (name === wholeBody) whole = value;
    else if (wireName in route.query.shape) addToQuery(query, wireName, value, route.query.shape[wireName]);
    else if (value !== undefined) body[wireName] = MAPS.has(wireName) ? value : renamed(value, snake);
  }
  if (query.size > 0) target += `?${query}`;
  if (route.methods[0] === "GET") return { target, body: null, type: null };
  if (route.body === "arrow") return { target, body: rowsOf(data), type: ARROW_TYPE };
  return { target, body: jsonText(wholeBody === null ? body : (whole ?? null)), type: JSON_TYPE };
}

/** JSON has no bigints: they become texts. Typed arrays become lists. */
const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === "bigint"
      ? String(member)
      : ArrayBuffer.isView(member)
        ? Array.from(member as Uint8Array)
        : member,
  );

/** Refuses ids that no URL can carry. */
function segmentOf(id: readonly string[], delimiter: string): string {
  const isPath = Array.isArray(id) && id.every((part) => typeof part === "string" && part !== "");
  if (!isPath) throw new errors.InvalidInputError("id: an empty part");
  const segment = id.length === 0 ? delimiter : encode(id.join(delimiter));
  if (segment === "." || segment === "..") throw new errors.InvalidInputError("id: is a step of a path");
  return segment;
}

function encode(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (error) {
    throw new errors.InvalidInputError("a text is not well-formed Unicode", { cause: error });
  }
}

function addToQuery(query: URLSearchParams, name: string, value: unknown, type: z.ZodType): void {
  if (value === undefined || value === null) return;
  // A text in place of a number stays a text.
  const isText = ["text", ["text"]].some((value) => type.safeParse(value).success);
  if (Array.isArray(value)) for (const entry of value) query.append(name, String(entry));
  else query.set(name, typeof value === "string" && isText ? value : JSON.stringify(value));
}

/** Encodes rows as an IPC stream. Other values are sent unchanged, for the server to refuse. */
function rowsOf(data: RowsInput | undefined): Uint8Array | string | RowsBody {
  if (data instanceof Uint8Array) return data;
  if (typeof data !== "object" || data === null) return String(data);
  if ("schema" in data && "batches" in data) return arrow.tableToIPC(data as arrow.Table, "stream");
  return new RowsBody(data as AsyncIterable<arrow.RecordBatch>);
}

/** Rows that are streamed. */
class RowsBody {
  readonly #batches: AsyncIterable<arrow.RecordBatch> | Iterable<arrow.RecordBatch>;
  /** Error of the rows' source. */
  failure: errors.NamespaceError | undefined;
  readonly #asked: Promise<void>;
  /** Called when the engine asks for the rows or ends without them. */
  letGo = () => {};

  constructor(batches: AsyncIterable<arrow.RecordBatch> | Iterable<arrow.RecordBatch>) {
    this.#batches = batches;
    this.#asked = new Promise((resolve) => {
      this.letGo = resolve;
    });
  }

  /** Yields the stream, schema first. Waits for the engine's request as in one process, unlike `fetch`. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    const sink = new Sink();
    let writer: arrow.RecordBatchStreamWriter | undefined;
    try {
      if ("schema" in this.#batches) {
        writer = new arrow.RecordBatchStreamWriter().reset(sink, this.#batches.schema as arrow.Schema);
        yield* sink.pieces.splice(0);
        await this.#asked;
      }
      for await (const batch of this.#batches) {
        writer ??= new arrow.RecordBatchStreamWriter().reset(sink, batch.schema);
        writer.write(batch);
        yield* sink.pieces.splice(0);
      }
    } catch (error) {
      this.failure = new errors.InvalidInputError("the source of the rows failed", { cause: error });
      throw this.failure;
    }
    writer?.finish();
    yield* sink.pieces;
  }
}

type RowsCall = (request: Members, data: RowsInput) => Promise<unknown>;

const isStream = (data: unknown): data is AsyncIterable<Uint8Array> =>
  typeof data === "object" && data !== null && Symbol.asyncIterator in data;

async function* onFirstRead<T>(source: AsyncIterable<T>, note: () => void): AsyncGenerator<T> {
  note();
  yield* source;
}

class Sink extends arrow.AsyncByteQueue {
  readonly pieces: Uint8Array[] = [];

  override write(piece: Uint8Array): void {
    this.pieces.push(piece);
  }
}

async function resultOf({ answer: form }: Route, answer: Response): Promise<unknown> {
  if (form === "nothing") return undefined;
  if (form === "rows") return queryResult(new Uint8Array(await answer.arrayBuffer()));
  if (typeof form === "object" && "events" in form) return answer.text();
  const json = await answer.json();
  const isRecord = form instanceof z.ZodObject;
  // The answer conforms to the OpenAPI document.
  (isRecord ? form : "bare" in form ? form.bare : form.schema).parse(json);
  if (isRecord) return renamed(json, camel);
  return "member" in form ? { [form.member]: json } : json;
}

function queryResult(bytes: Uint8Array): QueryResult {
  const reader = arrow.RecordBatchReader.from(bytes);
  reader.open();
  const { schema } = reader;
  const batches = [...reader];
  const each = async function* () {
    yield* batches;
  };
  return resultOfBatches(schema, each);
}

const problem = z.strictObject({
  ...{ type: z.string(), title: z.string(), status: z.int().min(400), detail: z.string() },
  ...{ instance: z.string(), error: z.string(), code: z.int().min(0) },
});

function errorOf(json: unknown): errors.NamespaceError {
  const { code, detail } = problem.parse(json);
  const type = Object.entries(errors.ERROR_TABLE).find(([, row]) => row.code === code)?.[0];
  const made = Object.values(errors).find(
    (value) => typeof value === "function" && value.name === `${type}Error`,
  );
  return new (made as typeof errors.InternalError)(detail);
}

/** Disks in memory by root. */
const memoryDisks = new Map<string, Disk>();

/** Opens a namespace in memory. Namespaces with one root share their tables. */
function openInMemory(root: string): DirectoryNamespace {
  const disk = memoryDisks.get(root) ?? memoryDisk();
  memoryDisks.set(root, disk);
  return new DirectoryNamespace({ root, disk });
}

/** Ways to open a namespace in a directory, by name. */
export const WORLDS = [
  ["the class in memory", openInMemory],
  ["the class", (root: string) => new DirectoryNamespace(onSuiteDisk({ root, durability: "none" }))],
  [
    "the class behind HTTP",
    (root: string) => new RestNamespace({ root, durability: "none" }) as unknown as DirectoryNamespace,
  ],
] as const;
