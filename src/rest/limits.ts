/** The limits of a handler: defaults, check, and the limits of each part and of the engine. */

import { InvalidInputError } from "../errors.js";
import type { BodyBounds } from "./http/body.js";
import { MemoryBudget } from "./http/budget.js";
import type { Route } from "./wire/route.js";

/** Limits on the cost of requests. */
export interface RestLimits {
  /** Maximum bytes of a body with rows, which is never in memory as a whole. Default: 16 GiB. */
  readonly maxBodyBytes?: number;
  /** Maximum bytes of an uncompressed batch, of all dictionaries, and of an IPC file. Default: 512 MiB. */
  readonly maxBatchBytes?: number;
  /** Maximum rows of a body: a few hundred bytes may hold very many rows of nulls. Default: 2^30. */
  readonly maxRows?: number;
  /**
   * Maximum bytes of a JSON body. A body also has at most 65,536 objects and arrays, 262,144 members and
   * 262,144 commas. Maximum bytes of a row in JSON, with the same bounds. Default: 4 MiB.
   */
  readonly maxJsonBytes?: number;
  /**
   * Maximum bytes of a JSON body whose sender is unknown: the headers have no credentials, but the body's
   * `identity` may. Default: 64 KiB.
   */
  readonly maxUnauthenticatedJsonBytes?: number;
  /** Total milliseconds to wait for such a body. Default: 5 seconds. */
  readonly unauthenticatedBodyMs?: number;
  /**
   * Maximum columns of a query; a table with more fields raises it to that number. It also bounds the keys
   * and values of an aggregation, and the members of a row in JSON. Default: 4,096.
   */
  readonly maxColumns?: number;
  /** Maximum bytes of the URL and all headers. Default: 32 KiB. */
  readonly maxHeaderBytes?: number;
  /**
   * Maximum bytes of uncompressed bodies in memory, of all requests together. A larger batch is accepted
   * while there is no other. Default: 1 GiB.
   */
  readonly maxBodyMemoryBytes?: number;
  /**
   * Maximum bytes of answers in memory, of all requests together: from pages of rows to bytes that clients
   * have not taken. Default: 512 MiB.
   */
  readonly maxAnswerMemoryBytes?: number;
  /** Milliseconds that a request waits for such memory before it is refused with 503. Default: 10 seconds. */
  readonly memoryWaitMs?: number;
  /** Maximum number of concurrent requests. More are refused with 503. Default: 256. */
  readonly maxInFlight?: number;
  /**
   * Maximum number of concurrent requests without credentials in their headers, if `auth` accepts any
   * credentials. A request counts until the caller is identified; with `anonymous`, until its end. More are
   * refused with 503. Default: a quarter of `maxInFlight`.
   */
  readonly maxUnauthenticated?: number;
  /** Maximum milliseconds of a request, including its answer. Default: 10 minutes. */
  readonly requestTimeoutMs?: number;
  /** Maximum milliseconds between two pieces of a body. Default: 30 seconds. */
  readonly bodyIdleMs?: number;
  /** Maximum milliseconds until a client takes the next piece of its answer. Default: 30 seconds. */
  readonly answerIdleMs?: number;
  /** Minimum bytes per second of a body, once the total wait exceeds `bodyIdleMs`. Default: 1,024. */
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
/** Bytes that a single answer may hold while there is no other, even above the limit for all answers. */
const MAX_ANSWER_BYTES = 2 ** 30;
/** Approximate bytes of a batch of rows on the wire. */
const ANSWER_BATCH_BYTES = 2 ** 20;
/** Maximum duration of a timer. */
export const MAX_MS = 2 ** 31 - 1;

/**
 * Returns all limits with their defaults.
 * @throws InvalidInputError naming the limit
 */
export function checkLimits(options: RestLimits = {}): Required<RestLimits> {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(limits, name)) throw new InvalidInputError(`limits.${name}: there is no such limit`);
    if (value === undefined) continue;
    const maximum = name.endsWith("Ms") ? MAX_MS : Number.MAX_SAFE_INTEGER;
    if (!Number.isSafeInteger(value) || value < 1 || value > maximum) {
      throw new InvalidInputError(`limits.${name}: must be an integer from 1 to ${maximum}`);
    }
    limits[name] = value;
  }
  if (options.maxUnauthenticated === undefined) limits.maxUnauthenticated = Math.ceil(limits.maxInFlight / 4);
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

/**
 * Returns the limits for the engine.
 * @internal
 */
export function engineBounds(
  route: Route,
  { maxBatchBytes, maxRows, maxColumns }: Required<RestLimits>,
): object {
  if (route.body === "arrow") return { maxBatchBytes, maxRows };
  return ["queryTable", "aggregateTable", "takeTableRows"].includes(route.operation)
    ? { maxColumns, batchBytes: ANSWER_BATCH_BYTES }
    : {};
}

/** Returns the budget of all bodies. `maxBatchBytes` limits a single body. */
export const bodyBudget = (limits: Required<RestLimits>): MemoryBudget =>
  budgetOf(limits.maxBodyMemoryBytes, Number.POSITIVE_INFINITY, limits);

/** Returns the budget of all answers. */
export function answerBudget(limits: Required<RestLimits>): MemoryBudget {
  const { maxAnswerMemoryBytes } = limits;
  return budgetOf(maxAnswerMemoryBytes, Math.max(MAX_ANSWER_BYTES, maxAnswerMemoryBytes), limits);
}

/** Requests without credentials get half of the memory, so that other requests find some. */
const budgetOf = (
  maxBytes: number,
  maxAloneBytes: number,
  { memoryWaitMs }: Required<RestLimits>,
): MemoryBudget =>
  new MemoryBudget({ maxBytes, maxAloneBytes, maxUnauthenticatedBytes: maxBytes / 2, waitMs: memoryWaitMs });
