/** A running S3 server of others. Each test file starts its own. */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { AwsClient } from "aws4fetch";
import { type S3Disk, type S3DiskOptions, s3Disk } from "tiltyard/disks";
import { FaultyProxy } from "../../support/faultyProxy.js";
import type { StoreName } from "./storeNames.js";
import { type StoreKey, startProgram } from "./storePrograms.js";

export { STORES } from "./storeNames.js";

const KEY: StoreKey = { accessKeyId: "tiltyard-tests", secretAccessKey: "secret-of-tiltyard-tests" };
export const BUCKET = "tables";

/** A running server with an empty bucket. */
export class Store implements AsyncDisposable {
  readonly name: StoreName;
  readonly region = "us-east-1";
  readonly #child: ChildProcess;
  readonly #target: string;
  /** Passes changes of one key on one after the other, where the server does not do that itself. */
  readonly #queue: FaultyProxy | null;

  private constructor(name: StoreName, child: ChildProcess, target: string, queue: FaultyProxy | null) {
    this.name = name;
    this.#child = child;
    this.#target = target;
    this.#queue = queue;
  }

  static async start(name: StoreName): Promise<Store> {
    const { child, endpoint: target } = await startProgram(name, KEY);
    // moto checks a condition and stores the object in two steps, and serves each request in a thread.
    const queue = name === "moto" ? await FaultyProxy.start(target, { isSerial: true }) : null;
    const store = new Store(name, child, target, queue);
    const made = await store.signed.fetch(`${target}/${BUCKET}`, { method: "PUT" });
    if (!made.ok) throw new Error(`${name} made no bucket: ${made.status} ${await made.text()}`);
    return store;
  }

  get endpoint(): string {
    return this.#queue?.endpoint ?? this.#target;
  }

  /** A client for what the disk does not do. */
  get signed(): AwsClient {
    return new AwsClient({ ...KEY, service: "s3", region: this.region });
  }

  /** Options of a disk below a prefix; plain, so that they can be sent to another process. */
  options(prefix: string, endpoint = this.endpoint): S3DiskOptions {
    return { endpoint, region: this.region, bucket: BUCKET, prefix, credentials: KEY };
  }

  disk(prefix: string, more: Partial<S3DiskOptions> = {}): S3Disk {
    return s3Disk({ ...this.options(prefix), ...more });
  }

  /** Options of LanceDB for Node. */
  get storageOptions(): Record<string, string> {
    return {
      endpoint: this.endpoint,
      region: this.region,
      allowHttp: "true",
      awsAccessKeyId: KEY.accessKeyId,
      awsSecretAccessKey: KEY.secretAccessKey,
    };
  }

  /** Environment of a process with pylance. */
  get environment(): Record<string, string> {
    return {
      AWS_ENDPOINT: this.endpoint,
      AWS_REGION: this.region,
      AWS_ALLOW_HTTP: "true",
      AWS_ACCESS_KEY_ID: KEY.accessKeyId,
      AWS_SECRET_ACCESS_KEY: KEY.secretAccessKey,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue?.[Symbol.asyncDispose]();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}
