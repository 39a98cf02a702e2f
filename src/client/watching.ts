/** Versions of a watched table, from server-sent events. After a break, the client connects again. */

import { whenAborted } from "../async/abort.js";
import { performance } from "../async/timers.js";
import type { TableVersion } from "../namespace/versions.js";
import { EVENT_STREAM, mediaTypeOf } from "../rest/wire/mediaTypes.js";
import { tableVersion } from "../rest/wire/shapes.js";
import { checkedAnswer } from "./answers.js";
import { readEvents } from "./events.js";
import { errorOfCall, errorOfProblem, malformedAnswer } from "./problems.js";
import { takenOnce } from "./takenOnce.js";
import { type Incoming, isPassing, pause } from "./transport.js";

/** Maximum characters of one event. */
const MAX_EVENT = 2 ** 20;
/** Milliseconds after which a connection counts as a success, even if no version came. */
const LASTING_MS = 1000;
/** Maximum milliseconds between two connections. */
const MAX_PAUSE_MS = 10_000;

/** A watch and how to begin it. */
export interface Watch {
  /** Last version that the caller knows. */
  readonly from: number;
  readonly signal: AbortSignal | undefined;
  readonly retries: number;
  readonly delayMs: number;
  /** The first connection, which the first iteration takes if it begins in time. */
  readonly first: Incoming;
  /** Connects to the events after a version. */
  connect(from: number, signal: AbortSignal): Promise<Incoming>;
}

/**
 * Returns an answer with events.
 * @throws InternalError for an answer of another type, such as a proxy's page: it would end without events,
 *   and the client would connect forever
 */
export function requireEvents(incoming: Incoming): Incoming {
  if (mediaTypeOf(incoming) === EVENT_STREAM) return incoming;
  incoming.cancel();
  throw malformedAnswer("it is not a stream of events");
}

/** Returns the versions that are committed after the first one. Each iteration begins anew. */
export function watchedVersions(watch: Watch): AsyncIterable<TableVersion> {
  const takeFirst = takenOnce(watch.first, watch.first.cancel);
  const connect: Watch["connect"] = async (from, signal) => {
    const first = takeFirst();
    if (first === null) return watch.connect(from, signal);
    whenAborted(signal, first.cancel);
    return first;
  };
  return { [Symbol.asyncIterator]: () => iteratorOf({ ...watch, connect }) };
}

/** Iterates over versions. `return` ends a pending `next`; that of a generator would wait for it. */
function iteratorOf(watch: Watch): AsyncGenerator<TableVersion, void, undefined> {
  const stop = new AbortController();
  const versions = versionsOf(watch, stop);
  const end = versions.return.bind(versions);
  versions.return = (value) => {
    stop.abort();
    return end(value);
  };
  return versions;
}

async function* versionsOf(
  watch: Watch,
  stop: AbortController,
): AsyncGenerator<TableVersion, void, undefined> {
  const { signal, retries, delayMs } = watch;
  const endWait = signal === undefined ? () => {} : whenAborted(signal, () => stop.abort(signal.reason));
  let last = watch.from;
  try {
    for (let failures = 0; ; failures++) {
      const beganMs = performance.now();
      try {
        const incoming = await watch.connect(last, stop.signal);
        for await (const version of versionsIn(incoming)) {
          failures = 0;
          if (version.version <= last) continue;
          last = version.version;
          yield version;
        }
      } catch (error) {
        if (failures >= retries || !isPassing(error)) throw error;
      }
      if (performance.now() - beganMs > LASTING_MS) failures = 0;
      await pause(Math.min(MAX_PAUSE_MS, delayMs * 2 ** failures), stop.signal);
    }
  } catch (error) {
    if (signal?.aborted !== true && stop.signal.aborted) return;
    throw errorOfCall(error, "watchTable", signal);
  } finally {
    endWait();
    stop.abort();
  }
}

async function* versionsIn(incoming: Incoming): AsyncGenerator<TableVersion, void, undefined> {
  for await (const { name, data } of readEvents(incoming.pieces(), MAX_EVENT)) {
    const json = jsonOf(data);
    if (name === "error") throw errorOfProblem(json, incoming.secrets);
    if (name === "version") yield checkedAnswer(tableVersion, json, incoming.secrets) as TableVersion;
  }
}

function jsonOf(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw malformedAnswer("an event is not JSON");
  }
}
