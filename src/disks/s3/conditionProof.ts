/**
 * Proof that a server checks the conditions of puts. One that ignores `If-None-Match` would let two writers
 * publish the same version, and the first one would lose its rows without notice. So the first conditional
 * write of a disk tries it on an object of a unique name.
 */

import { UnsupportedError } from "../../errors.js";
import type { S3Client } from "./client.js";
import { S3UnavailableError } from "./failures.js";

export class ConditionProof {
  readonly #client: S3Client;
  readonly #prefix: string;
  #proving: Promise<void> | null = null;

  /** @param prefix of the keys of the disk, with a slash at its end unless it is empty */
  constructor(client: S3Client, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  /**
   * Resolves if the server checks conditions. After a failure, the next call tries again.
   * @throws UnsupportedError if it ignores them; the error of a request that failed
   */
  confirm(): Promise<void> {
    this.#proving ??= this.#prove().catch((error: unknown) => {
      this.#proving = null;
      throw error;
    });
    return this.#proving;
  }

  async #prove(): Promise<void> {
    const key = `${this.#prefix}.tiltyard-probe-${crypto.randomUUID()}`;
    const body = new TextEncoder().encode("probe");
    const put = () =>
      this.#client.send({ method: "PUT", key, body, headers: { "if-none-match": "*" }, accepts: [412] });
    // If the removal fails, an object of five bytes stays. Nobody reads it.
    const remove = () => this.#client.send({ method: "DELETE", key, accepts: [404] }).catch(() => undefined);
    let isChecked: boolean;
    try {
      await put();
      // After a lost answer, the first put has status 412 too.
      isChecked = (await put()).status === 412;
    } catch (error) {
      if (error instanceof S3UnavailableError) await remove();
      throw error;
    }
    await remove();
    if (isChecked) return;
    throw new UnsupportedError(
      "the S3 server ignores If-None-Match, so writers would overwrite each other's versions; tables there can only be read",
    );
  }
}
