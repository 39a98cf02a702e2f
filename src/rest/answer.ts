/** Answers: JSON, and rows as an Arrow IPC stream or file that is written batch by batch as it is read. */

import {
  AsyncByteQueue,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
} from "apache-arrow";
import type { QueryResult } from "../namespace.js";
import { ARROW_FILE, ARROW_STREAM, takesGzip, wantsStream } from "./negotiation.js";

/** JSON of fewer bytes is not compressed: it would not get there sooner. */
const MIN_GZIP_BYTES = 1024;
/** A body of no more bytes is as good as taken: it fits where the system keeps it for the client. */
const TAKEN_BYTES = 2 ** 16;

const utf8 = new TextEncoder();

/** A JSON answer, compressed where the client takes that and it pays. */
export function jsonAnswer(
  request: Request,
  value: unknown,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const bytes = utf8.encode(JSON.stringify(value));
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

/** Takes what the writer writes, until somebody asks for it. */
class Sink extends AsyncByteQueue {
  #pieces: Uint8Array[] = [];

  override write(piece: Uint8Array): void {
    this.#pieces.push(piece);
  }

  take(): Uint8Array[] {
    const taken = this.#pieces;
    this.#pieces = [];
    return taken;
  }
}

/**
 * The same answer; `done` is called once: when its last byte was taken, when its client let go of it, or when it broke
 * off, with the reason. When the signal is aborted it breaks off, also while nobody takes anything.
 */
export function whenSent(
  response: Response,
  signal: AbortSignal | undefined,
  done: (failure?: unknown) => void,
): Response {
  const { body } = response;
  const declared = response.headers.get("content-length");
  if (body === null || (declared !== null && Number(declared) <= TAKEN_BYTES)) {
    done();
    return response;
  }
  const reader = body.getReader();
  const end = (failure?: unknown) => {
    signal?.removeEventListener("abort", breakOff);
    done(failure);
  };
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const breakOff = () => {
    controller.error(signal?.reason);
    reader.cancel(signal?.reason).catch(() => undefined);
    end(signal?.reason);
  };
  const watched = new ReadableStream<Uint8Array>(
    {
      start(own) {
        controller = own;
        if (signal?.aborted) breakOff();
        else signal?.addEventListener("abort", breakOff, { once: true });
      },
      async pull() {
        try {
          const { done: ended, value } = await reader.read();
          if (signal?.aborted) return;
          if (!ended) return controller.enqueue(value);
          controller.close();
          end();
        } catch (error) {
          if (signal?.aborted) return;
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
