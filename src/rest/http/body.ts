/**
 * Bodies of requests, read within bounds: of size, of depth, of the time between two pieces, and of the time that is
 * waited for all of them. Rows are handed on piece by piece as they come.
 */

import { breathe } from "../../async/eventLoop.js";
import type { MemoryShare } from "../../memory.js";
import { Refusal } from "../wire/problem.js";
import { bodyIsGone } from "./parsedBody.js";

export interface BodyBounds {
  /** Bytes. */
  readonly maxBytes: number;
  /** Milliseconds until the next piece has to be there. */
  readonly idleMs: number;
  /** Milliseconds that are waited for the client in all, besides those that its bytes earn. */
  readonly waitMs: number;
  /** Bytes that earn a second. */
  readonly bytesPerSecond: number;
  readonly signal: AbortSignal;
  /** What JSON is held in, while it is read and as long as what it says is in use. */
  readonly memory?: MemoryShare;
}

/** Objects and arrays inside each other, at most. No request of the interface comes near. */
const MAX_JSON_DEPTH = 64;

const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;

/** Use of memory. */
const JSON_USE = "json";
/** Bytes that a byte of JSON becomes at most, about: `{}` in an array is an object. */
const PARSED_FACTOR = 32;

const COLON = 0x3a;
const COMMA = 0x2c;

/** Objects and arrays in all, at most: of more of them JSON takes long to parse, and much memory. */
const MAX_JSON_NODES = 2 ** 16;
/** Members of all objects, at most: each name is made a string of its own, and looked at. */
const MAX_JSON_MEMBERS = 2 ** 18;
/** Commas in all, at most: vectors are long arrays of numbers, which are quick. */
const MAX_JSON_COMMAS = 2 ** 18;
/** JSON of so many bytes takes a while to parse and to check. */
const LONG_JSON_BYTES = 2 ** 12;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The body as pieces of bytes. Letting go of the iterator lets go of the body.
 * @throws Refusal while it is read
 */
export async function* readPieces(request: Request, bounds: BodyBounds): AsyncGenerator<Uint8Array> {
  refuseEncoded(request);
  refuseLarge(Number(request.headers.get("content-length") ?? 0), bounds);
  if (request.body === null) return;
  if (request.bodyUsed || request.body.locked) throw bodyIsGone();
  const reader = request.body.getReader();
  let received = 0;
  /** The time that the rows before a piece took is not the client's. */
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
    // A body that is not wanted any more may not answer either.
    if (!ended) reader.cancel().catch(() => undefined);
  }
}

/**
 * The body as JSON; undefined where there is none. The media type counts without a body too: a page of any site can have
 * a form sent, but nothing that says it is JSON.
 * @throws Refusal where it is none, or breaks a bound
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
  if (isLong) await breathe();
  const value = parseJson(bytes);
  checkMembers(value);
  // What is made of it takes its time too.
  if (isLong) await breathe();
  return value;
}

/**
 * Refuses a body that says it is something else than one of these types. One that does not say is taken.
 * @throws Refusal
 */
export function refuseMediaType(request: Request, accepted: readonly string[]): void {
  const declared = request.headers.get("content-type");
  if (declared === null) return;
  const mediaType = declared.split(";")[0].trim().toLowerCase();
  if (mediaType === "" || accepted.includes(mediaType)) return;
  throw new Refusal(415, "InvalidInput", `content-type: must be ${accepted.join(" or ")}`);
}

function refuseEncoded(request: Request): void {
  const encoding = request.headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  throw new Refusal(415, "InvalidInput", "content-encoding: bodies of requests are taken as they are only");
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

/** What is in strings counts as well: nobody needs so many. */
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

/** Refuses what is nested too deep, and members that stand for the prototype of objects. */
function checkMembers(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH)
      throw new Refusal(400, "InvalidInput", `the body is nested deeper than ${MAX_JSON_DEPTH} levels`);
    const next: unknown[] = [];
    for (const entry of level) {
      if (typeof entry !== "object" || entry === null) continue;
      if (Object.hasOwn(entry, "__proto__"))
        throw new Refusal(400, "InvalidInput", "__proto__: is no name of a member");
      for (const member of Object.values(entry)) next.push(member);
    }
    level = next;
  }
}

/** All of them in one. The pieces themselves are not held: each may be a byte, and a window on a large buffer. */
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
