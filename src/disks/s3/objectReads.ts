/** Reads of objects: whole, from the end, and ranges of one state of an object. */

import { CorruptFileError, InternalError } from "../../errors.js";
import { diskError } from "../../io/disk/errno.js";
import { MAX_WHOLE_BYTES } from "../../io/disk/wholeFile.js";
import type { S3Answer, S3Client } from "./client.js";
import { etagOf } from "./conditionalPut.js";

/** An object as it was when it was opened. */
export interface ObjectState {
  readonly key: string;
  /** Path on the disk, for messages. */
  readonly path: string;
  readonly size: number;
  /** ETag; empty if the server sends none. Ranges are then read of whatever is there. */
  readonly etag: string;
  /** Nanoseconds since the epoch of the last change; 0 if unknown. */
  readonly modifiedNs: bigint;
}

/** The last bytes of an object, and its state. */
export interface ObjectTail {
  readonly state: ObjectState;
  readonly tail: Uint8Array;
}

/** Returns the state of an object; null if it does not exist. */
export async function headObject(client: S3Client, key: string, path: string): Promise<ObjectState | null> {
  const answer = await client.send({ method: "HEAD", key, accepts: [404] });
  if (answer.status === 404) return null;
  const size = sizeOf(answer.headers.get("content-length"));
  if (size !== null) return stateOf(answer, key, path, size);
  throw new InternalError(`the S3 server did not tell the size of ${key}`);
}

/**
 * Reads the last bytes of an object; all of it if it is shorter. Returns null if it does not exist.
 * @param tailBytes at least 1
 */
export async function readTail(
  client: S3Client,
  key: string,
  path: string,
  tailBytes: number,
): Promise<ObjectTail | null> {
  const answer = await client.send({
    method: "GET",
    key,
    headers: { range: `bytes=-${tailBytes}` },
    accepts: [404, 416],
    maxBytes: tailBytes,
    check: checkPart,
  });
  if (answer.status === 404) return null;
  if (answer.status === 416) {
    const state = await emptyObject(client, key, path);
    return state && { state, tail: new Uint8Array(0) };
  }
  const { body } = answer;
  const { start, end, size } = sentRange(answer);
  const isTail = end === size && (body.length === tailBytes || start === 0);
  if (!isTail) throw sentOtherBytes(key);
  return { state: stateOf(answer, key, path, size), tail: body };
}

/**
 * Returns the state of an object after the status 416, which means that it has no bytes; null if it is gone.
 * @throws InternalError if it has some
 */
async function emptyObject(client: S3Client, key: string, path: string): Promise<ObjectState | null> {
  const state = await headObject(client, key, path);
  if (state !== null && state.size > 0) throw new InternalError(`the S3 server refused to read ${key}`);
  return state;
}

/**
 * Reads a whole object; null if it does not exist.
 * @throws CorruptFileError if it is longer than `maxBytes`
 */
export async function readObject(
  client: S3Client,
  key: string,
  path: string,
  maxBytes: number,
): Promise<Uint8Array | null> {
  const answer = await client.send({
    method: "GET",
    key,
    // One byte more tells an object that is too long, whatever its length.
    ...(maxBytes < MAX_WHOLE_BYTES && { headers: { range: `bytes=0-${maxBytes}` } }),
    accepts: [404, 416],
    maxBytes: Math.min(maxBytes + 1, MAX_WHOLE_BYTES),
    check: checkPart,
  });
  if (answer.status === 404) return null;
  if (answer.status === 416) return (await emptyObject(client, key, path)) && new Uint8Array(0);
  const sent = sentRange(answer);
  if (sent.end > maxBytes) throw new CorruptFileError(path, maxBytes, `more than ${maxBytes} bytes`);
  if (sent.start > 0 || sent.end < sent.size) throw sentOtherBytes(key);
  return answer.body;
}

/**
 * Reads a range of an object in the state in which it was opened.
 * @param memory exactly as long as the range
 * @throws CorruptFileError if the object was replaced; an error with the code ENOENT if it was removed
 */
export async function readRange(
  client: S3Client,
  { key, path, size, etag }: ObjectState,
  byteOffset: number,
  memory: Uint8Array,
): Promise<void> {
  const end = byteOffset + memory.length;
  if (end > size) {
    const reason = `the read needs ${memory.length} bytes from here, but the file ends at ${size}`;
    throw new CorruptFileError(path, byteOffset, reason);
  }
  if (memory.length === 0) return;
  const answer = await client.send({
    method: "GET",
    key,
    headers: { range: `bytes=${byteOffset}-${end - 1}`, ...(etag !== "" && { "if-match": etag }) },
    accepts: [404, 412, 416],
    maxBytes: memory.length,
    memory,
    check: checkPart,
  });
  if (answer.status === 404) {
    throw diskError("ENOENT", "read", path);
  }
  const sent = answer.status < 300 ? sentRange(answer) : null;
  if (sent === null || sent.size !== size || isOfAnother(answer, etag)) {
    throw new CorruptFileError(path, byteOffset, "the object was replaced while it was open");
  }
  if (sent.start !== byteOffset || sent.end !== end) throw sentOtherBytes(key);
}

/** True if an answer brings another object than the one with this ETag. Some servers ignore `If-Match`. */
function isOfAnother(answer: S3Answer, etag: string): boolean {
  const sentEtag = etagOf(answer);
  return etag !== "" && sentEtag !== "" && sentEtag !== etag;
}

const sentOtherBytes = (key: string): InternalError =>
  new InternalError(`the S3 server sent other bytes of ${key} than were asked for`);

/**
 * Refuses an answer that has fewer bytes than it says.
 * @throws Error, after which the request is sent again
 */
function checkPart(answer: S3Answer): void {
  const { start, end } = sentRange(answer);
  const length = end - start;
  if (answer.body.length !== length) throw new Error(`${answer.body.length} of ${length} bytes arrived`);
}

/** A range of an object, and the object's size. */
interface ContentRange {
  readonly start: number;
  readonly end: number;
  readonly size: number;
}

/**
 * Returns the range of an object that an answer brings. Some servers send the whole object, with the status
 * 200, if it is not longer than the range.
 */
function sentRange({ status, headers, body }: S3Answer): ContentRange {
  if (status !== 206) return { start: 0, end: body.length, size: body.length };
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers.get("content-range") ?? "");
  const [start, last, size] = (match ?? []).slice(1).map(Number);
  if (match !== null && last < size && start <= last && Number.isSafeInteger(size)) {
    return { start, end: last + 1, size };
  }
  throw new InternalError("the S3 server did not tell which bytes it sent");
}

function stateOf({ headers }: S3Answer, key: string, path: string, size: number): ObjectState {
  const modifiedMs = Date.parse(headers.get("last-modified") ?? "");
  const modifiedNs = Number.isNaN(modifiedMs) ? 0n : BigInt(modifiedMs) * 1_000_000n;
  return { key, path, size, etag: etagOf({ headers }), modifiedNs };
}

function sizeOf(text: string | null): number | null {
  const size = Number(text ?? Number.NaN);
  return Number.isSafeInteger(size) && size >= 0 ? size : null;
}
