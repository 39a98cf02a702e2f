/**
 * Bodies that code in front of the listener has already read, such as the parsers of Express and others. Nothing is
 * left on the connection then, which must not be taken for an empty body.
 *
 *     what was put onto the request                   taken
 *     rawBody: bytes or text                          where the body was sent without an encoding
 *     body: bytes                                     always
 *     body: text, or a value                          where the request says that it is JSON
 *     anything else                                   never: reading the body fails and says what to do about it
 */

import type { IncomingMessage } from "node:http";
import { Refusal } from "../wire/problem.js";

/** Members that frameworks add to a request. */
interface Parsed {
  readonly body?: unknown;
  readonly rawBody?: unknown;
  /** Set by a body parser that has put a body there, rather than an empty object in place of one. */
  readonly _body?: unknown;
}

/** More bytes than an empty JSON object takes. */
const EMPTY_OBJECT_BYTES = 16;

const utf8 = new TextEncoder();

/**
 * The body if it was read before; null if it is still to come. A refusal is for the code that reads the body: the
 * request may be refused for better reasons before.
 */
export function parsedBody(incoming: IncomingMessage): Uint8Array | Refusal | null {
  if (!incoming.readableDidRead) {
    // An empty body is never read from.
    if (incoming.readableEnded) return new Uint8Array(0);
    if (incoming.readableEncoding === null) return null;
  }
  const bytes = bodyBytesOf(incoming);
  const declared = Number(incoming.headers["content-length"] ?? 0);
  return bytes === null || (bytes.length === 0 && declared > 0) ? bodyIsGone() : bytes;
}

/** The refusal of a body that other code has read. */
export const bodyIsGone = (): Refusal =>
  new Refusal(
    500,
    "Internal",
    "the body was read before this server's handler got the request: whoever runs it puts the handler in front of what " +
      "parses bodies, or has the parser leave the bytes, for example by express.raw({ type: () => true })",
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
  // An empty object may stand for a body that its parser has not parsed.
  const isEmpty = typeof body === "object" && Object.keys(body).length === 0;
  if (isEmpty && isParsed !== true && !(Number(length) <= EMPTY_OBJECT_BYTES)) return null;
  return utf8.encode(textOf(body));
}

const viewOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/json *(?:;|$)/i.test(headers["content-type"]?.trim() ?? "");
}

/** The value as JSON. If it has no JSON form, a text that is not JSON, which the reader of the body refuses. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // Nested deeper than the stack goes.
    return "[";
  }
}
