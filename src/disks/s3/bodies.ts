/** Bodies of answers, read within bounds of bytes and time. */

import { clearTimeout, setTimeout } from "../../async/timers.js";
import { InternalError } from "../../errors.js";

/** An attempt that stops when the server sends nothing for too long. */
export class IdleTimer {
  readonly #abort = new AbortController();
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param firstMs milliseconds until the first answer */
  constructor(idleMs: number, firstMs: number) {
    this.#idleMs = idleMs;
    this.#start(firstMs);
  }

  /** Aborts when the time is up. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Notes that bytes have arrived. */
  renew(): void {
    this.end();
    this.#start(this.#idleMs);
  }

  end(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }

  #start(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#abort.abort(new Error(`the server sent nothing for ${ms} ms`));
    }, ms);
  }
}

/**
 * Reads a body of at most `maxBytes`.
 * @param memory memory of at least `maxBytes` that is filled and returned in part; default: fresh memory
 * @throws InternalError if the body is longer; the error of the connection if it breaks
 */
export async function readBody(
  response: Response,
  maxBytes: number,
  timer: IdleTimer,
  memory?: Uint8Array,
): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array(0);
  const announced = Number(response.headers.get("content-length") ?? Number.NaN);
  const reader = response.body.getReader();
  try {
    if (announced > maxBytes) throw tooLong(maxBytes);
    let target = memory ?? new Uint8Array(Number.isNaN(announced) ? Math.min(maxBytes, 65_536) : announced);
    let byteLength = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      timer.renew();
      const end = byteLength + value.length;
      if (end > maxBytes) throw tooLong(maxBytes);
      if (end > target.length) {
        const larger = new Uint8Array(Math.min(maxBytes, Math.max(end, 2 * target.length)));
        larger.set(target.subarray(0, byteLength));
        target = larger;
      }
      target.set(value, byteLength);
      byteLength = end;
    }
    if (byteLength < announced) throw new Error(`the body ended after ${byteLength} of ${announced} bytes`);
    return target.subarray(0, byteLength);
  } catch (error) {
    // The connection is of no further use. Its failure is the one that counts.
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

/** Frees the connection of an answer whose body nobody needs. */
export const dropBody = (response: Response): void => {
  response.body?.cancel().catch(() => undefined);
};

const tooLong = (maxBytes: number): InternalError =>
  new InternalError(`the S3 server sent more than the ${maxBytes} bytes that were asked for`);
