/** Bodies of requests, read within limits on size, depth and time. Rows are passed on piece by piece. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { clearTimeout, performance, setTimeout } from "../../async/timers.js";
import type { MemoryShare } from "../../memory.js";
import { mediaTypeOf } from "../wire/mediaTypes.js";
import { Refusal } from "../wire/problem.js";
import { bodyIsGone } from "./parsedBody.js";

export interface BodyBounds {
  /** Maximum bytes of the body. */
  readonly maxBytes: number;
  /** Maximum milliseconds until the next piece. */
  readonly idleMs: number;
  /** Total milliseconds to wait for the body, in addition to those that its bytes earn. */
  readonly waitMs: number;
  /** Bytes that earn a second of waiting. */
  readonly bytesPerSecond: number;
  readonly signal: AbortSignal;
  /** Memory account of JSON, from reading until its content is no longer used. */
  readonly memory?: MemoryShare;
}

/** Maximum nesting of objects and arrays, far beyond that of valid requests. */
export const MAX_JSON_DEPTH = 64;

const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;

/** Name of the memory use. */
const JSON_USE = "json";
/** Approximate maximum number of bytes in memory per byte of JSON: `{}` in an array is an object. */
const PARSED_FACTOR = 32;

const COLON = 0x3a;
const COMMA = 0x2c;

/** Maximum number of objects and arrays, which are slow to parse and take much memory. */
export const MAX_JSON_NODES = 2 ** 16;
/** Maximum number of members of all objects. Each name becomes a string and is checked. */
const MAX_JSON_MEMBERS = 2 ** 18;
/** Maximum number of commas. Vectors are long arrays of numbers, which parse quickly. */
export const MAX_JSON_COMMAS = 2 ** 18;
/** Minimum bytes of JSON that is slow to parse and check. */
const LONG_JSON_BYTES = 2 ** 12;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Yields the body in pieces. Closing the iterator releases the body.
 * @throws Refusal during reading
 */
export async function* readPieces(request: Request, bounds: BodyBounds): AsyncGenerator<Uint8Array> {
  refuseEncoded(request);
  refuseLarge(Number(request.headers.get("content-length") ?? 0), bounds);
  if (request.body === null) return;
  if (request.bodyUsed || request.body.locked) throw bodyIsGone();
  const reader = request.body.getReader();
  let received = 0;
  /** Excludes the time that the engine took for earlier rows. */
  let waitedMs = 0;
  let ended = false;
  try {
    for (;;) {
      const earnedMs = (received / bounds.bytesPerSecond) * 1000;
      const since = performance.now();
      const { done, value } = await nextPiece(reader, bounds, bounds.waitMs + earnedMs - waitedMs);
      waitedMs += performance.now() - since;
      if (done) {
        ended = true;
        return;
      }
      received += value.length;
      refuseLarge(received, bounds);
      if (value.length > 0) yield value;
    }
  } finally {
    // Cancelling a body may fail as well.
    if (!ended) reader.cancel().catch(() => undefined);
  }
}

/**
 * Returns the body as JSON; undefined without a body. The media type is checked even then: a page of any site
 * can make a browser send a form, but not JSON.
 * @throws Refusal if the body is not JSON, or exceeds a limit
 */
export async function readJson(request: Request, bounds: BodyBounds): Promise<unknown> {
  refuseMediaType(request, ["application/json"]);
  const { memory } = bounds;
  const bytes = await gather(readPieces(request, bounds), memory);
  if (bytes.length === 0) return undefined;
  const isLong = bytes.length >= LONG_JSON_BYTES;
  if (isLong) refuseManyNodes(bytes);
  const room = memory?.hold(JSON_USE, PARSED_FACTOR * bytes.length);
  if (room !== undefined) await room;
  if (isLong) await yieldToEventLoop();
  const value = parseJson(bytes);
  checkMembers(value);
  // The next steps with the value take time too.
  if (isLong) await yieldToEventLoop();
  return value;
}

/**
 * Refuses a body of another declared media type. A body without a declared type is accepted.
 * @throws Refusal
 */
export function refuseMediaType(request: Request, accepted: readonly string[]): void {
  const mediaType = mediaTypeOf(request);
  if (mediaType === "" || accepted.includes(mediaType)) return;
  throw new Refusal(415, "InvalidInput", `content-type: must be ${accepted.join(" or ")}`);
}

function refuseEncoded(request: Request): void {
  const encoding = request.headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  throw new Refusal(415, "InvalidInput", "content-encoding: compressed request bodies are not supported");
}

function refuseLarge(bytes: number, { maxBytes }: BodyBounds): void {
  if (bytes > maxBytes) throw new Refusal(413, "InvalidInput", `the body has more than ${maxBytes} bytes`);
}

async function nextPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { idleMs, signal }: BodyBounds,
  leftMs: number,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const reason =
      leftMs < idleMs ? "the body comes too slowly" : `nothing of the body came for ${idleMs} ms`;
    const late = () => reject(new Refusal(408, "InvalidInput", reason));
    timer = setTimeout(late, Math.max(0, Math.min(idleMs, leftMs)));
  });
  try {
    return await Promise.race([reader.read().catch(cutOff), ended]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
  }
}

function cutOff(reason: unknown): never {
  if (reason instanceof Refusal) throw reason;
  throw new Refusal(400, "InvalidInput", "the body broke off");
}

/** Refuses a body with too many nodes. Characters in strings count as well; valid requests have far fewer. */
function refuseManyNodes(bytes: Uint8Array): void {
  let nodes = 0;
  let members = 0;
  let commas = 0;
  for (const byte of bytes) {
    if (byte === COMMA) commas++;
    else if (byte === COLON) members++;
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) nodes++;
  }
  if (nodes > MAX_JSON_NODES) throw tooMany(MAX_JSON_NODES, "objects and arrays");
  if (members > MAX_JSON_MEMBERS) throw tooMany(MAX_JSON_MEMBERS, "members, or colons");
  if (commas > MAX_JSON_COMMAS) throw tooMany(MAX_JSON_COMMAS, "commas");
}

const tooMany = (count: number, what: string): Refusal =>
  new Refusal(413, "InvalidInput", `the body has more than ${count} ${what}`);

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new Refusal(400, "InvalidInput", "the body is not JSON in UTF-8");
  }
}

/** Refuses too deep nesting, and members that would change the prototype of objects. */
function checkMembers(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH)
      throw new Refusal(400, "InvalidInput", `the body is nested deeper than ${MAX_JSON_DEPTH} levels`);
    const next: unknown[] = [];
    for (const entry of level) {
      if (typeof entry !== "object" || entry === null) continue;
      if (Object.hasOwn(entry, "__proto__"))
        throw new Refusal(400, "InvalidInput", "__proto__: is not allowed as the name of a member");
      for (const member of Object.values(entry)) next.push(member);
    }
    level = next;
  }
}

/**
 * Joins the pieces into one array. It copies each piece, because a piece of one byte may be a view of a large
 * buffer.
 */
async function gather(pieces: AsyncIterable<Uint8Array>, memory?: MemoryShare): Promise<Uint8Array> {
  let bytes = new Uint8Array(0);
  let length = 0;
  for await (const piece of pieces) {
    if (length + piece.length > bytes.length) {
      const size = Math.max(length + piece.length, 2 * bytes.length);
      const isLong = bytes.length >= LONG_JSON_BYTES;
      if (isLong) refuseManyNodes(bytes);
      const room = memory?.hold(JSON_USE, bytes.length + size);
      if (room !== undefined) await room;
      const larger = new Uint8Array(size);
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(piece, length);
    length += piece.length;
  }
  return bytes.subarray(0, length);
}
