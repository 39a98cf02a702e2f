/**
 * The limits of a handler: their defaults, their check, and what each part of the handler makes of them. What the engine
 * must keep to is passed to it with the request.
 */

import { InvalidInputError } from "../errors.js";
import type { BodyBounds } from "./http/body.js";
import { MemoryBudget } from "./http/budget.js";
import type { Route } from "./wire/route.js";

/** Bounds on the cost of requests. */
export interface RestLimits {
  /** Maximum bytes of a body of rows, which is never held as a whole; default 16 GiB. */
  readonly maxBodyBytes?: number;
  /**
   * Maximum bytes of one record batch of such a body, uncompressed, of its dictionaries, and of an IPC file; default
   * 512 MiB.
   */
  readonly maxBatchBytes?: number;
  /** Maximum rows of a body; default 2^30. A few hundred bytes have as many rows if all columns are nulls. */
  readonly maxRows?: number;
  /**
   * Maximum bytes of a JSON body; default 4 MiB. It also has at most 65,536 objects and arrays, 262,144 members and as
   * many commas.
   */
  readonly maxJsonBytes?: number;
  /**
   * Maximum bytes of a JSON body whose sender is unknown until it is read: the headers have no credentials, but the
   * body's `identity` may. Default 64 KiB.
   */
  readonly maxUnauthenticatedJsonBytes?: number;
  /** Total milliseconds to wait for such a body; default 5 seconds. */
  readonly unauthenticatedBodyMs?: number;
  /** Maximum columns that a query may name; a table with more fields allows as many as it has. Default 4,096. */
  readonly maxColumns?: number;
  /** Maximum bytes of the URL and all headers; default 32 KiB. */
  readonly maxHeaderBytes?: number;
  /**
   * Maximum bytes of bodies held at once, uncompressed, by all requests together; default 1 GiB. A batch that needs
   * more by itself is accepted when there is no other.
   */
  readonly maxBodyMemoryBytes?: number;
  /**
   * Maximum bytes of answers held at once by all requests together, from the pages of rows to what the client has not
   * taken; default 512 MiB.
   */
  readonly maxAnswerMemoryBytes?: number;
  /** Milliseconds that a request waits for such memory before it is refused with 503; default 10 seconds. */
  readonly memoryWaitMs?: number;
  /** Maximum requests in progress at once; more are refused with 503. Default 256. */
  readonly maxInFlight?: number;
  /**
   * Maximum requests among these without credentials in their headers, if `auth` accepts any credentials. They count
   * until the caller is known, or to their end if `anonymous` lets them in. More are refused with 503. Default: a
   * quarter of `maxInFlight`.
   */
  readonly maxUnauthenticated?: number;
  /** Milliseconds that a request may take, including its answer; default 10 minutes. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds within which the next piece of a body must arrive; default 30 seconds. */
  readonly bodyIdleMs?: number;
  /** Milliseconds within which a client must take the next piece of its answer; default 30 seconds. */
  readonly answerIdleMs?: number;
  /**
   * Minimum bytes that a body must deliver per second of waiting, once the wait exceeds `bodyIdleMs` in total; default
   * 1,024.
   */
  readonly minBodyBytesPerSecond?: number;
}

const DEFAULT_LIMITS: Required<RestLimits> = {
  maxBodyBytes: 2 ** 34,
  maxBatchBytes: 2 ** 29,
  maxRows: 2 ** 30,
  maxJsonBytes: 2 ** 22,
  maxUnauthenticatedJsonBytes: 2 ** 16,
  unauthenticatedBodyMs: 5000,
  maxColumns: 4096,
  maxHeaderBytes: 2 ** 15,
  maxBodyMemoryBytes: 2 ** 30,
  maxAnswerMemoryBytes: 2 ** 29,
  memoryWaitMs: 10_000,
  maxInFlight: 256,
  maxUnauthenticated: 64,
  requestTimeoutMs: 600_000,
  bodyIdleMs: 30_000,
  answerIdleMs: 30_000,
  minBodyBytesPerSecond: 1024,
};
/** Bytes that one answer may hold at once while there are no others, even if the bound for all answers is lower. */
const MAX_ANSWER_BYTES = 2 ** 30;
/** Approximate bytes of a batch of rows on the wire. */
const ANSWER_BATCH_BYTES = 2 ** 20;
/** Longest time that a timer accepts. */
export const MAX_MS = 2 ** 31 - 1;

/** @throws InvalidInputError naming the limit */
export function checkLimits(given: RestLimits = {}): Required<RestLimits> {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(limits, name)) throw new InvalidInputError(`limits.${name}: there is no such limit`);
    if (value === undefined) continue;
    const most = name.endsWith("Ms") ? MAX_MS : Number.MAX_SAFE_INTEGER;
    if (!Number.isSafeInteger(value) || value < 1 || value > most) {
      throw new InvalidInputError(`limits.${name}: must be an integer from 1 to ${most}`);
    }
    limits[name] = value;
  }
  if (given.maxUnauthenticated === undefined) limits.maxUnauthenticated = Math.ceil(limits.maxInFlight / 4);
  return limits as unknown as Required<RestLimits>;
}

export function rowBounds(limits: Required<RestLimits>, signal: AbortSignal): BodyBounds {
  const { maxBodyBytes, bodyIdleMs, minBodyBytesPerSecond } = limits;
  const bytesPerSecond = minBodyBytesPerSecond;
  return { maxBytes: maxBodyBytes, idleMs: bodyIdleMs, waitMs: bodyIdleMs, bytesPerSecond, signal };
}

export function jsonBounds(
  limits: Required<RestLimits>,
  isUnauthenticated: boolean,
  signal: AbortSignal,
): BodyBounds {
  const bounds = { ...rowBounds(limits, signal), maxBytes: limits.maxJsonBytes };
  if (!isUnauthenticated) return bounds;
  const maxBytes = Math.min(limits.maxUnauthenticatedJsonBytes, limits.maxJsonBytes);
  return {
    ...bounds,
    maxBytes,
    waitMs: limits.unauthenticatedBodyMs,
    bytesPerSecond: Number.POSITIVE_INFINITY,
  };
}

/** The limits that are passed to the engine. */
export function engineBounds(
  route: Route,
  { maxBatchBytes, maxRows, maxColumns }: Required<RestLimits>,
): object {
  if (route.body === "arrow") return { maxBatchBytes, maxRows };
  return route.answer === "rows" ? { maxColumns, batchBytes: ANSWER_BATCH_BYTES } : {};
}

/** The memory that all bodies together may take. A single one has no bound: `maxBatchBytes` bounds what it needs at once. */
export const bodyBudget = (limits: Required<RestLimits>): MemoryBudget =>
  budgetOf(limits.maxBodyMemoryBytes, Number.POSITIVE_INFINITY, limits);

/** The memory that all answers together may take. */
export function answerBudget(limits: Required<RestLimits>): MemoryBudget {
  const { maxAnswerMemoryBytes } = limits;
  return budgetOf(maxAnswerMemoryBytes, Math.max(MAX_ANSWER_BYTES, maxAnswerMemoryBytes), limits);
}

/** Requests without credentials get half of it, so that something is left for others. */
const budgetOf = (
  maxBytes: number,
  maxAloneBytes: number,
  { memoryWaitMs }: Required<RestLimits>,
): MemoryBudget =>
  new MemoryBudget({ maxBytes, maxAloneBytes, maxUnauthenticatedBytes: maxBytes / 2, waitMs: memoryWaitMs });
