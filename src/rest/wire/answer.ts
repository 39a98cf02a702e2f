/** Answers: JSON, and rows as an Arrow IPC stream or file that is written batch by batch as it is read. */

import {
  AsyncByteQueue,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
} from "apache-arrow";
import { breathe } from "../../async/eventLoop.js";
import { ServiceUnavailableError } from "../../errors.js";
import type { MemoryShare } from "../../memory.js";
import type { QueryResult } from "../../namespace.js";
import { ARROW_FILE, ARROW_STREAM, takesGzip, wantsStream } from "./negotiation.js";
import { Refusal } from "./problem.js";

/** JSON of fewer bytes is not compressed: it would not get there sooner. */
const MIN_GZIP_BYTES = 1024;
/** A body of no more bytes is as good as taken: it fits where the system keeps it for the client. */
const TAKEN_BYTES = 2 ** 16;

/** Bytes handed over at once, so that a client that takes them slowly is told from one that takes nothing. */
const PIECE_BYTES = 2 ** 18;
/** Pieces of fewer bytes are put together: each is handed on by itself. */
const SMALL_BYTES = 2 ** 13;
/** Use of memory. */
const ANSWER = "answer";

const utf8 = new TextEncoder();

export interface JsonAnswerOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** What the answer is held in until its client has it. */
  readonly memory?: MemoryShare;
}

/**
 * A JSON answer, compressed where the client takes that and it pays.
 * @throws Refusal where there is no memory for it
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
    const reason = "other requests take the memory that the answer needs";
    throw new Refusal(503, "ServiceUnavailable", reason, { "retry-after": "1" });
  }
  memory.note(ANSWER, byteLength);
}

/**
 * Rows as an Arrow IPC file, or as a stream where the client asks for one, and where columns have dictionaries: those
 * of later batches take the place of earlier ones, which files have no way to say. The first batch is read before there is
 * an answer: what is wrong with the request, and most of what is wrong with the table, is an error answer then.
 */
export async function rowsAnswer(request: Request, result: QueryResult): Promise<Response> {
  const asStream = wantsStream(request.headers, result.schema.dictionaries.size > 0);
  const batches = result[Symbol.asyncIterator]();
  const first = await batches.next();
  const pieces = ipcPieces(result, first, batches, asStream);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return(undefined);
        // Pieces of which none was asked for have not begun, and so let go of nothing.
        await batches.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    status: 200,
    headers: { "content-type": asStream ? ARROW_STREAM : ARROW_FILE, vary: "accept" },
  });
}

async function* ipcPieces(
  { schema }: QueryResult,
  first: IteratorResult<RecordBatch>,
  batches: AsyncIterator<RecordBatch>,
  asStream: boolean,
): AsyncGenerator<Uint8Array, undefined> {
  const sink = new Sink();
  const writer = (asStream ? new RecordBatchStreamWriter() : new RecordBatchFileWriter()).reset(sink, schema);
  let ended = false;
  try {
    for (let next = first; next.done !== true; next = await batches.next()) {
      await breathe();
      writer.write(next.value);
      yield* sink.take();
    }
    ended = true;
    writer.finish();
    yield* sink.take();
  } finally {
    if (!ended) await batches.return?.();
  }
}

function joined(pieces: readonly Uint8Array[], byteLength: number): Uint8Array {
  const bytes = new Uint8Array(byteLength);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Takes what the writer writes, until somebody asks for it. */
class Sink extends AsyncByteQueue {
  #pieces: Uint8Array[] = [];

  override write(piece: Uint8Array): void {
    this.#pieces.push(piece);
  }

  /** Small pieces are put together. */
  take(): Uint8Array[] {
    const taken: Uint8Array[] = [];
    let small: Uint8Array[] = [];
    let smallBytes = 0;
    const join = () => {
      if (small.length > 0) taken.push(small.length === 1 ? small[0] : joined(small, smallBytes));
      small = [];
      smallBytes = 0;
    };
    for (const piece of this.#pieces) {
      if (piece.length === 0) continue;
      if (piece.length >= SMALL_BYTES || smallBytes >= PIECE_BYTES) join();
      if (piece.length >= SMALL_BYTES) {
        taken.push(piece);
      } else {
        small.push(piece);
        smallBytes += piece.length;
      }
    }
    join();
    this.#pieces = [];
    return taken;
  }
}

/**
 * The same answer; `done` is called once: when its last byte was taken, when its client let go of it, or when it broke
 * off, with the reason. When the signal is aborted it breaks off, also while nobody takes anything, and when nobody has
 * taken anything for `idleMs`.
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
  /** From now on it is the client that is waited for. */
  const waitForClient = () => {
    idle = setTimeout(() => {
      breakOff(new ServiceUnavailableError(`the client took nothing of the answer for ${idleMs} ms`));
    }, idleMs);
    idle.unref?.();
  };
  /** What was read and not handed over yet. */
  let rest = new Uint8Array(0);
  const watched = new ReadableStream<Uint8Array>(
    {
      start(own) {
        controller = own;
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
