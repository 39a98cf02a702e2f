/** Answers: JSON, and rows as an Arrow IPC stream or file that is written batch by batch. */

import type { RecordBatch } from "apache-arrow";
import { encodeIpc } from "../../arrow/exchange/ipcOutput.js";
import { pulledStream } from "../../async/pulledStream.js";
import { clearTimeout, setTimeout } from "../../async/timers.js";
import { ServiceUnavailableError } from "../../errors.js";
import type { MemoryShare } from "../../memory.js";
import type { QueryResult } from "../../namespace/queries.js";
import { ROW_TYPES, rowsFormOf, takesGzip } from "./negotiation.js";
import { unavailable } from "./problem.js";
import { writeJsonRows } from "./writeJsonRows.js";

/** Minimum bytes of JSON to compress. Compression does not speed up smaller answers. */
const MIN_GZIP_BYTES = 1024;
/** A body of at most this size counts as taken, because it fits into the system's send buffer. */
const TAKEN_BYTES = 2 ** 16;
/** Maximum bytes per piece, so that a slow client differs from a client that takes nothing. */
const PIECE_BYTES = 2 ** 18;
/** Name of the memory use. */
const ANSWER = "answer";

const utf8 = new TextEncoder();

export interface JsonAnswerOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Memory account of the answer until the client has it. */
  readonly memory?: MemoryShare;
}

/**
 * Returns a JSON answer, compressed if the client accepts that and the answer is large.
 * @throws Refusal if memory is short
 */
export function jsonAnswer(
  request: Request,
  value: unknown,
  status: number,
  { headers = {}, memory }: JsonAnswerOptions = {},
): Response {
  const bytes = utf8.encode(JSON.stringify(value));
  if (memory !== undefined) holdAnswer(bytes.length, memory);
  const described = { "content-type": "application/json", vary: "accept-encoding", ...headers };
  if (bytes.length < MIN_GZIP_BYTES || !takesGzip(request.headers)) {
    return new Response(bytes, {
      status,
      headers: { ...described, "content-length": String(bytes.length) },
    });
  }
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(packed, { status, headers: { ...described, "content-encoding": "gzip" } });
}

function holdAnswer(byteLength: number, memory: MemoryShare): void {
  if (byteLength > memory.spareBytes(ANSWER)) {
    throw unavailable("other requests take the memory that the answer needs");
  }
  memory.note(ANSWER, byteLength);
}

/** Wishes of the client for an answer with rows. */
export interface RowsWish {
  /** True if the client means JSON where it accepts `application/json`. */
  readonly takesJson: boolean;
  readonly nonFinite: "null" | "text";
}

/**
 * Returns rows in the form that the client prefers. Rows whose columns have dictionaries don't fit into an
 * Arrow file, which can't replace dictionaries between batches. The first batch is read before the answer
 * begins, so that most errors still become error answers.
 */
export async function rowsAnswer(
  request: Request,
  result: QueryResult,
  { takesJson, nonFinite }: RowsWish = { takesJson: true, nonFinite: "null" },
): Promise<Response> {
  const form = rowsFormOf(request.headers, [
    "stream",
    ...(result.schema.dictionaries.size > 0 ? [] : (["file"] as const)),
    ...(takesJson ? (["json"] as const) : []),
    "lines",
  ]);
  const batches = result[Symbol.asyncIterator]();
  const first = await batches.next();
  const all = startingWith(first, batches);
  const isArrow = form === "stream" || form === "file";
  const pieces = isArrow
    ? encodeIpc(result.schema, all, form === "stream")
    : writeJsonRows(all, { isLines: form === "lines", nonFinite });
  const body = pulledStream(pieces, async () => {
    await pieces.return(undefined);
    // If no piece was requested, the generator has not begun and releases nothing.
    await batches.return?.();
  });
  return new Response(body, { status: 200, headers: { "content-type": ROW_TYPES[form], vary: "accept" } });
}

/** Yields the batches; the first one is already read. */
async function* startingWith(
  first: IteratorResult<RecordBatch>,
  rest: AsyncIterator<RecordBatch>,
): AsyncGenerator<RecordBatch, void, undefined> {
  let next = first;
  try {
    for (; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    if (next.done !== true) await rest.return?.();
  }
}

/**
 * Returns the answer and calls `done` once: when the last byte is taken, the client leaves, or the answer
 * breaks off (with the reason). The answer breaks off when the signal aborts, or when nobody takes anything
 * for `idleMs`.
 */
export function whenSent(
  response: Response,
  { signal, idleMs }: { readonly signal: AbortSignal | undefined; readonly idleMs: number },
  done: (failure?: unknown) => void,
): Response {
  const { body } = response;
  const declared = response.headers.get("content-length");
  if (body === null || (declared !== null && Number(declared) <= TAKEN_BYTES)) {
    done();
    return response;
  }
  const reader = body.getReader();
  let isOver = false;
  let idle: ReturnType<typeof setTimeout> | undefined;
  const end = (failure?: unknown) => {
    isOver = true;
    clearTimeout(idle);
    signal?.removeEventListener("abort", abort);
    done(failure);
  };
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const breakOff = (reason: unknown) => {
    controller.error(reason);
    reader.cancel(reason).catch(() => undefined);
    end(reason);
  };
  const abort = () => breakOff(signal?.reason);
  /** Starts the time limit for the next piece. */
  const waitForClient = () => {
    idle = setTimeout(() => {
      breakOff(new ServiceUnavailableError(`the client did not read the answer for ${idleMs} ms`));
    }, idleMs);
    idle.unref?.();
  };
  /** Bytes that are read but not sent. */
  let rest = new Uint8Array(0);
  const watched = new ReadableStream<Uint8Array>(
    {
      start(streamController) {
        controller = streamController;
        if (signal?.aborted) return abort();
        signal?.addEventListener("abort", abort, { once: true });
        waitForClient();
      },
      async pull() {
        clearTimeout(idle);
        try {
          if (rest.length === 0) {
            const { done: ended, value } = await reader.read();
            if (isOver) return;
            if (ended) {
              controller.close();
              end();
              return;
            }
            rest = value as Uint8Array<ArrayBuffer>;
          }
          const piece = rest.subarray(0, PIECE_BYTES);
          rest = rest.subarray(piece.length);
          waitForClient();
          controller.enqueue(piece);
        } catch (error) {
          if (isOver) return;
          controller.error(error);
          end(error);
        }
      },
      async cancel(reason) {
        end(reason);
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(watched, response);
}
