/**
 * Bodies that other code has read before the listener, such as the parsers of Express. The connection is
 * empty then, which does not mean an empty body.
 *
 *     member of the request                           used
 *     rawBody: bytes or text                          if the body was sent without an encoding
 *     body: bytes                                     always
 *     body: text, or a value                          if the request declares JSON
 *     anything else                                   never: reading the body fails with advice
 */

import type { IncomingMessage } from "node:http";
import { Refusal } from "../wire/problem.js";

/** Members that frameworks add to a request. */
interface Parsed {
  readonly body?: unknown;
  readonly rawBody?: unknown;
  /** Set by a parser that stored a body, and not an empty object in place of one. */
  readonly _body?: unknown;
}

/** Maximum bytes of an empty JSON object. */
const EMPTY_OBJECT_BYTES = 16;

const utf8 = new TextEncoder();

/** Returns the body if it was read before; null otherwise. The code that reads it throws a refusal. */
export function parsedBody(incoming: IncomingMessage): Uint8Array | Refusal | null {
  if (!incoming.readableDidRead) {
    // Nobody reads an empty body.
    if (incoming.readableEnded) return new Uint8Array(0);
    if (incoming.readableEncoding === null) return null;
  }
  const bytes = bodyBytesOf(incoming);
  const declared = Number(incoming.headers["content-length"] ?? 0);
  return bytes === null || (bytes.length === 0 && declared > 0) ? bodyIsGone() : bytes;
}

/** Returns the refusal of a body that other code has read. */
export const bodyIsGone = (): Refusal =>
  new Refusal(
    500,
    "Internal",
    "the body was read before this server's handler got the request: its operator puts the handler before body parsers, " +
      "or uses a parser that keeps the bytes, such as express.raw({ type: () => true })",
  );

function bodyBytesOf(incoming: IncomingMessage): Uint8Array | null {
  const { body, rawBody, _body: isParsed } = incoming as IncomingMessage & Parsed;
  const { "content-encoding": encoding = "identity", "content-length": length } = incoming.headers;
  if (encoding === "identity") {
    if (ArrayBuffer.isView(rawBody)) return viewOf(rawBody);
    if (typeof rawBody === "string" && isJson(incoming)) return utf8.encode(rawBody);
  }
  if (ArrayBuffer.isView(body)) return viewOf(body);
  if (body === undefined || body === null || !isJson(incoming)) return null;
  if (typeof body === "string") return utf8.encode(body);
  // An empty object may stand for a body that its parser did not parse.
  const isEmpty = typeof body === "object" && Object.keys(body).length === 0;
  if (isEmpty && isParsed !== true && !(Number(length) <= EMPTY_OBJECT_BYTES)) return null;
  return utf8.encode(textOf(body));
}

const viewOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/json *(?:;|$)/i.test(headers["content-type"]?.trim() ?? "");
}

/** Returns the value as JSON; if it has no JSON form, a text that the reader of the body refuses. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // The value is nested deeper than the stack allows.
    return "[";
  }
}
