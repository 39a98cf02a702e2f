/**
 * Objects written from front to back: small ones with one request, large ones in parts. The object appears
 * when the last request has succeeded, complete. If anything fails, the parts are removed. Parts of a writer
 * that died stay until a lifecycle rule of the bucket removes them.
 */

import { InternalError } from "../../errors.js";
import type { S3Client } from "./client.js";
import {
  conditionHeaders,
  NONCE_HEADER,
  newNonce,
  type PutCondition,
  type PutOutcome,
  putObject,
  resolveWrite,
} from "./conditionalPut.js";
import { parseAnswer, textOf } from "./xml.js";

/** Maximum number of parts of an object. */
const MAX_PARTS = 10_000;
/** Parts that are sent at a time; one more is being filled. */
const PARTS_UNDER_WAY = 3;

interface StartedUpload {
  readonly uploadId: string;
  readonly nonce: string;
}

/** Collects the bytes of an object, and stores it when they are complete. */
export class ObjectUpload {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #condition: PutCondition;
  #part: Uint8Array<ArrayBuffer> | null = null;
  #partLength = 0;
  #upload: StartedUpload | null = null;
  /** ETags of the parts, by number less one. */
  readonly #etags: string[] = [];
  #partCount = 0;
  readonly #underWay = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | null = null;

  constructor(client: S3Client, key: string, condition: PutCondition) {
    this.#client = client;
    this.#key = key;
    this.#condition = condition;
  }

  /** Takes bytes, which are free when the call resolves. Waits while too many parts are under way. */
  async write(chunk: Uint8Array): Promise<void> {
    const { partBytes } = this.#client.settings;
    for (let start = 0; start < chunk.length; ) {
      if (this.#failure !== null) throw this.#failure.error;
      // A full part is sent when more bytes follow: an object of one part needs one request.
      if (this.#partLength === partBytes) await this.#sendPart();
      const length = Math.min(chunk.length - start, partBytes - this.#partLength);
      this.#makeRoom(this.#partLength + length).set(chunk.subarray(start, start + length), this.#partLength);
      this.#partLength += length;
      start += length;
    }
  }

  /** Returns the memory of the part, grown to at least that length. */
  #makeRoom(byteLength: number): Uint8Array<ArrayBuffer> {
    if (this.#part !== null && this.#part.length >= byteLength) return this.#part;
    const { partBytes } = this.#client.settings;
    const capacity = Math.min(partBytes, Math.max(byteLength, 2 * (this.#part?.length ?? 0)));
    const larger = new Uint8Array(capacity);
    if (this.#part !== null) larger.set(this.#part.subarray(0, this.#partLength));
    this.#part = larger;
    return larger;
  }

  /**
   * Stores the object. Returns null if the condition does not hold; then nothing has changed.
   * @throws an error with the code `EUNCERTAIN` if it is unknown whether the object was stored
   */
  async finish(): Promise<PutOutcome> {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#upload === null) {
      const bytes = this.#part?.subarray(0, this.#partLength) ?? new Uint8Array(0);
      return putObject(this.#client, this.#key, bytes, this.#condition);
    }
    try {
      await this.#sendPart();
      await Promise.all(this.#underWay);
      if (this.#failure !== null) throw (this.#failure as { error: unknown }).error;
      const outcome = await this.#complete(this.#upload);
      if (outcome === null) await this.discard();
      return outcome;
    } catch (error) {
      // If the object may have been stored, an abort could not hurt it: the upload is gone then.
      await this.discard();
      throw error;
    }
  }

  /** Removes what was sent. Never fails: parts that cannot be removed are the bucket's to remove. */
  async discard(): Promise<void> {
    this.#failure ??= { error: new Error(`the write of ${this.#key} was given up`) };
    await Promise.allSettled(this.#underWay);
    const upload = this.#upload;
    this.#part = null;
    this.#upload = null;
    if (upload === null) return;
    const query = { uploadId: upload.uploadId };
    await this.#client
      .send({ method: "DELETE", key: this.#key, query, accepts: [404] })
      .catch(() => undefined);
  }

  async #sendPart(): Promise<void> {
    const upload = (this.#upload ??= await this.#start());
    if (this.#partCount === MAX_PARTS) {
      const most = MAX_PARTS * this.#client.settings.partBytes;
      throw new InternalError(
        `${this.#key}: more than ${most} bytes; a larger partBytes of s3Disk raises the limit`,
      );
    }
    const number = ++this.#partCount;
    const body = this.#part!.subarray(0, this.#partLength);
    this.#part = null;
    this.#partLength = 0;
    const sending = this.#client
      .send({
        method: "PUT",
        key: this.#key,
        query: { partNumber: String(number), uploadId: upload.uploadId },
        body,
      })
      .then(({ headers }) => {
        const etag = headers.get("etag");
        if (etag === null) throw new InternalError(`the S3 server sent no ETag for a part of ${this.#key}`);
        this.#etags[number - 1] = etag;
      })
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#underWay.delete(sending));
    this.#underWay.add(sending);
    while (this.#underWay.size >= PARTS_UNDER_WAY) await Promise.race(this.#underWay);
  }

  async #start(): Promise<StartedUpload> {
    const nonce = newNonce();
    const { body } = await this.#client.send({
      method: "POST",
      key: this.#key,
      query: { uploads: "" },
      headers: { "content-type": "application/octet-stream", [NONCE_HEADER]: nonce },
    });
    const uploadId = textOf(parseAnswer(body, "InitiateMultipartUploadResult"), "UploadId");
    if (uploadId) return { uploadId, nonce };
    throw new InternalError(`the S3 server sent no id for the upload of ${this.#key}`);
  }

  async #complete({ uploadId, nonce }: StartedUpload): Promise<PutOutcome> {
    const parts = this.#etags.map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
    );
    const body = new TextEncoder().encode(
      `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`,
    );
    const write = { key: this.#key, nonce, condition: this.#condition };
    return resolveWrite(this.#client, write, async () => {
      const answer = await this.#client.send({
        method: "POST",
        key: this.#key,
        query: { uploadId },
        headers: { "content-type": "application/xml", ...conditionHeaders(this.#condition) },
        body,
        // After a lost answer, the upload is gone: 404.
        accepts: [404, 412],
        resultName: "CompleteMultipartUploadResult",
      });
      return answer.status < 300 ? withEtag(answer) : answer;
    });
  }
}

/** Moves the ETag of the body to the headers, where other answers have it. */
function withEtag<Answer extends { readonly headers: Headers; readonly body: Uint8Array }>(
  answer: Answer,
): Answer {
  const etag = textOf(parseAnswer(answer.body, "CompleteMultipartUploadResult"), "ETag");
  if (etag === undefined) return answer;
  const headers = new Headers(answer.headers);
  headers.set("etag", etag);
  return { ...answer, headers };
}

const escapeXml = (text: string): string => text.replace(/[<>&"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
