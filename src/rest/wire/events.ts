/**
 * Answers with server-sent events: one event for each version, whose id is the number of the version. A
 * client that reconnects sends the last id in the header `Last-Event-ID`, and misses nothing. Comments keep
 * proxies from closing a silent connection.
 */

import type { z } from "zod";
import { clearTimeout, letProcessEnd, setTimeout } from "../../async/timers.js";
import { InvalidInputError } from "../../errors.js";
import { EVENT_STREAM } from "./mediaTypes.js";
import { toWire } from "./wireNames.js";

/** Milliseconds of silence after which a comment is sent. */
const COMMENT_MS = 15_000;
const LAST_EVENT_ID = "last-event-id";

const utf8 = new TextEncoder();

/**
 * Returns the number in the header `Last-Event-ID`; undefined without one.
 * @throws InvalidInputError
 */
export function lastEventId(headers: Headers): number | undefined {
  const text = headers.get(LAST_EVENT_ID);
  if (text === null || text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidInputError("Last-Event-ID: must be the number of a version");
}

/** A record that becomes an event. */
interface Numbered {
  readonly version: number;
}

/**
 * Returns an answer that sends records as they come, until the client leaves or the source fails.
 * @param problemFor returns what the client learns about a failure
 */
export function eventsAnswer(
  schema: z.ZodObject,
  records: AsyncIterable<Numbered>,
  problemFor: (error: unknown) => Promise<object>,
): Response {
  const iterator = records[Symbol.asyncIterator]();
  /** Record that the source will yield next; read at most once at a time. */
  let next: Promise<IteratorResult<Numbered, unknown>> | null = null;
  let isFirst = true;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // The client learns at once that it is connected.
        if (isFirst) {
          isFirst = false;
          controller.enqueue(utf8.encode(": connected\n\n"));
          return;
        }
        next ??= iterator.next();
        try {
          const result = await withinSilence(next);
          if (result === null) {
            controller.enqueue(utf8.encode(": waiting\n\n"));
            return;
          }
          next = null;
          if (result.done === true) {
            controller.close();
            return;
          }
          const { version } = result.value;
          controller.enqueue(eventOf("version", toWire(schema, result.value), version));
        } catch (error) {
          controller.enqueue(eventOf("error", await problemFor(error)));
          controller.close();
        }
      },
      cancel() {
        next?.catch(() => undefined);
        void iterator.return?.(undefined)?.catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { "content-type": EVENT_STREAM, "cache-control": "no-store" },
  });
}

/** Returns null if a record does not come for some time. */
async function withinSilence<Result>(next: Promise<Result>): Promise<Result | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), COMMENT_MS);
    letProcessEnd(timer);
  });
  try {
    return await Promise.race([next, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function eventOf(name: string, data: unknown, id?: number): Uint8Array {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return utf8.encode(`${idLine}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}
