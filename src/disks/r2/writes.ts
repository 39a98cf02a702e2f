/**
 * Writes of objects through an R2 binding. A call that fails may have stored its object. So each object has a
 * nonce as metadata. A later attempt that finds the name taken by its own nonce has succeeded.
 */

import { sleep } from "../../async/sleep.js";
import { concatBytes } from "../../bytes/concat.js";
import type { WriteHandle } from "../../io/disk/disk.js";
import { uncertainWrite } from "../../io/disk/errno.js";
import {
  isPassingFailure,
  persistently,
  type R2BucketBinding,
  type R2Condition,
  type R2ObjectState,
  type R2Upload,
} from "./binding.js";

/** Name of the metadata with the nonce. S3 shows it as `x-amz-meta-tiltyard-nonce`. */
const NONCE = "tiltyard-nonce";
/** Bytes of a part of a large file. All parts but the last have this size, as R2 demands. */
const PART_BYTES = 8 * 1024 * 1024;

/** Condition that a name has no object. */
export const IF_ABSENT: R2Condition = { etagDoesNotMatch: "*" };

/**
 * Stores an object; returns null if the condition did not hold and nothing has changed.
 * @throws an error with the code `EUNCERTAIN` if it is unknown whether the object was stored
 */
export async function putByBinding(
  bucket: R2BucketBinding,
  key: string,
  bytes: Uint8Array,
  onlyIf?: R2Condition,
): Promise<R2ObjectState | null> {
  const nonce = crypto.randomUUID();
  const options = { customMetadata: { [NONCE]: nonce }, ...(onlyIf !== undefined && { onlyIf }) };
  let failedAttempts = 0;
  try {
    return await persistently(async (earlierAttempts) => {
      failedAttempts = earlierAttempts;
      const stored = await bucket.put(key, bytes, options);
      if (stored !== null || earlierAttempts === 0) return stored;
      const present = await bucket.head(key);
      return present?.customMetadata?.[NONCE] === nonce ? present : null;
    }, sleep);
  } catch (cause) {
    // A refusal does not tell whether an earlier attempt stored the object.
    if (!isPassingFailure(cause) && failedAttempts === 0) throw cause;
    throw uncertainWrite(key, cause);
  }
}

/** Writes a new file. One of more than 8 MiB is uploaded in parts, and appears when it is complete. */
export class ObjectWriter implements WriteHandle {
  readonly takesChunksAtOnce = true;
  readonly #bucket: R2BucketBinding;
  readonly #key: string;
  readonly #existsAlready: () => Error;
  #chunks: Uint8Array[] = [];
  #byteLength = 0;
  #upload: R2Upload | null = null;
  #parts: unknown[] = [];

  /** @param existsAlready makes the error for a name that is taken */
  constructor(bucket: R2BucketBinding, key: string, existsAlready: () => Error) {
    this.#bucket = bucket;
    this.#key = key;
    this.#existsAlready = existsAlready;
  }

  async write(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      for (let start = 0; start < chunk.length; ) {
        const piece = chunk.slice(start, start + PART_BYTES - this.#byteLength);
        this.#chunks.push(piece);
        this.#byteLength += piece.length;
        start += piece.length;
        if (this.#byteLength === PART_BYTES) await this.#sendPart();
      }
    }
  }

  /** The bytes are in memory or in parts until the file is closed. */
  async sync(): Promise<void> {}

  async close(): Promise<void> {
    if (this.#upload === null) {
      const stored = await putByBinding(this.#bucket, this.#key, this.#take(), IF_ABSENT);
      if (stored === null) throw this.#existsAlready();
      return;
    }
    try {
      if (this.#byteLength > 0) await this.#sendPart();
      await this.#upload.complete(this.#parts);
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  async discard(): Promise<void> {
    const upload = this.#upload;
    this.#upload = null;
    this.#chunks = [];
    // The bucket removes parts of an upload that was not completed after a week.
    await upload?.abort().catch(() => undefined);
  }

  async #sendPart(): Promise<void> {
    if (this.#upload === null) {
      // A completed upload has no condition. Files of this size have unique names.
      if ((await persistently(() => this.#bucket.head(this.#key), sleep)) !== null)
        throw this.#existsAlready();
      this.#upload = await persistently(() => this.#bucket.createMultipartUpload(this.#key), sleep);
    }
    const upload = this.#upload;
    const bytes = this.#take();
    const number = this.#parts.length + 1;
    this.#parts.push(await persistently(() => upload.uploadPart(number, bytes), sleep));
  }

  #take(): Uint8Array {
    const bytes = concatBytes(this.#chunks);
    this.#chunks = [];
    this.#byteLength = 0;
    return bytes;
  }
}
