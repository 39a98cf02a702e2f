/**
 * Writes of whole objects that depend on what the bucket holds.
 *
 * A server may store an object although its answer is lost. The request that is sent again then finds the
 * name taken, by this call itself. So each call gives its object a nonce as metadata. A refused call reads
 * the metadata of the object that is there:
 *
 *     the nonce of this call   it stored the object; its answer was lost
 *     another nonce            another call of this engine stored it
 *     no nonce                 another engine stored it, or the server keeps no metadata: the bytes decide,
 *                              if an answer was lost
 *
 * The check follows every refusal, because browsers and proxies also send requests twice.
 */

import { InternalError } from "../../errors.js";
import { uncertainWrite } from "../../io/disk/errno.js";
import { isSameBytes } from "../../platform/native.js";
import type { S3Answer, S3Client, S3Request } from "./client.js";
import { S3UnavailableError } from "./failures.js";

/** Header with the nonce of the call that stored an object. */
export const NONCE_HEADER = "x-amz-meta-tiltyard-nonce";

/** Returns a text that no other call has. */
export const newNonce = (): string => crypto.randomUUID();

/** Condition of a write: the key has no object, or one with this ETag. */
export type PutCondition = { readonly ifNoneMatch: "*" } | { readonly ifMatch: string };

/** Outcome of a write; null if the condition did not hold and nothing has changed. */
export type PutOutcome = { readonly etag: string } | null;

/** Maximum number of times that a write is begun again because the object that refused it is gone. */
const MAX_RESTARTS = 5;

/** Returns the headers of a condition. */
export function conditionHeaders(condition: PutCondition | undefined): Record<string, string> {
  if (condition === undefined) return {};
  return "ifMatch" in condition
    ? { "if-match": condition.ifMatch }
    : { "if-none-match": condition.ifNoneMatch };
}

/**
 * Stores an object.
 * @param condition default: replaces what is there
 * @throws an error with the code `EUNCERTAIN` if it is unknown whether the object was stored
 */
export async function putObject(
  client: S3Client,
  key: string,
  body: Uint8Array<ArrayBuffer>,
  condition?: PutCondition,
): Promise<PutOutcome> {
  const nonce = newNonce();
  const request: S3Request = {
    method: "PUT",
    key,
    body,
    headers: {
      "content-type": "application/octet-stream",
      [NONCE_HEADER]: nonce,
      ...conditionHeaders(condition),
    },
    accepts: condition === undefined ? [] : [404, 412],
  };
  return resolveWrite(client, { key, nonce, body, condition }, () => client.send(request));
}

/** A write whose outcome an answer may leave open. */
export interface PendingWrite {
  readonly key: string;
  readonly nonce: string;
  /** Bytes of the object, unless they were uploaded in parts. */
  readonly body?: Uint8Array;
  readonly condition?: PutCondition | undefined;
}

/**
 * Sends a write, and finds out its outcome if the answer does not tell.
 * @param send sends the request; accepts the statuses 404 and 412 if there is a condition
 */
export async function resolveWrite(
  client: S3Client,
  write: PendingWrite,
  send: () => Promise<S3Answer>,
): Promise<PutOutcome> {
  for (let restarts = 0; ; restarts++) {
    let answer: S3Answer;
    try {
      answer = await send();
    } catch (error) {
      if (!(error instanceof S3UnavailableError)) throw error;
      const etag = await ownEtag(client, write, error.mayHaveArrived, error);
      if (etag !== null && etag !== "absent") return { etag };
      if (!error.mayHaveArrived) throw error;
      // The server may still be at work on an attempt that was given up.
      throw uncertainWrite(write.key, error);
    }
    if (answer.status < 300) return { etag: etagOf(answer) };
    const etag = await ownEtag(client, write, answer.uncertainAttempts > 0, null);
    if (etag === null) return null;
    if (etag !== "absent") return { etag };
    if ("ifMatch" in (write.condition ?? {})) return null;
    if (answer.status === 404) throw new InternalError(`the upload of ${write.key} is gone`);
    // The object that refused this one was removed meanwhile.
    if (restarts >= MAX_RESTARTS) return null;
  }
}

/**
 * Returns the ETag of the object if this write stored it; null if another one did; "absent" without object.
 * @param mayBeOurs true if an answer was lost, so that equal bytes without a nonce are this write's
 * @param failure error of the write, if it failed
 */
async function ownEtag(
  client: S3Client,
  { key, nonce, body }: PendingWrite,
  mayBeOurs: boolean,
  failure: S3UnavailableError | null,
): Promise<string | "absent" | null> {
  try {
    const head = await client.send({ method: "HEAD", key, accepts: [404] });
    if (head.status === 404) return "absent";
    const stored = head.headers.get(NONCE_HEADER);
    if (stored === nonce) return etagOf(head);
    const isComparable = stored === null && mayBeOurs && body !== undefined && body.length > 0;
    if (!isComparable || Number(head.headers.get("content-length")) !== body.length) return null;
    const content = await client.send({ method: "GET", key, accepts: [404], maxBytes: body.length });
    if (content.status === 404) return "absent";
    return isSameBytes(content.body, body) ? etagOf(content) : null;
  } catch (error) {
    // A refusal (no failure) may be the answer to a copy of the request that a proxy sent.
    throw mayBeOurs || failure === null ? uncertainWrite(key, failure ?? error) : failure;
  }
}

/** Returns the ETag of an answer; empty if the server sends none. */
export const etagOf = ({ headers }: Pick<S3Answer, "headers">): string => headers.get("etag") ?? "";
