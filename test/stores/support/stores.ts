/** S3 servers of others: moto, in Python, and MinIO, in Go. Each test file starts its own. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { AwsClient } from "aws4fetch";
import { type S3Disk, type S3DiskOptions, s3Disk } from "tiltyard/disks";
import { ENGINES, environment } from "../../engines/support/environments.js";
import { FaultyProxy } from "../../support/faultyProxy.js";
import { makeTempDir } from "../../support/tempDir.js";

/** Release of MinIO, as a version of its Go module. */
const MINIO = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c";
const BUILD_MS = 3_600_000;
const START_MS = 120_000;

export const STORES = ["moto", "MinIO"] as const;
export type StoreName = (typeof STORES)[number];

const ACCESS_KEY_ID = "tiltyard-tests";
const SECRET_ACCESS_KEY = "secret-of-tiltyard-tests";
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
    const port = await freePort();
    const child = name === "moto" ? await startMoto(port) : await startMinio(port);
    const target = `http://127.0.0.1:${port}`;
    await untilServing(child, name === "moto" ? target : `${target}/minio/health/live`);
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
    const { accessKeyId, secretAccessKey } = this.credentials;
    return new AwsClient({ accessKeyId, secretAccessKey, service: "s3", region: this.region });
  }

  get credentials() {
    return { accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY };
  }

  /** Options of a disk below a prefix; plain, so that they can be sent to another process. */
  options(prefix: string, endpoint = this.endpoint): S3DiskOptions {
    const { region, credentials } = this;
    return { endpoint, region, bucket: BUCKET, prefix, credentials };
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
      awsAccessKeyId: ACCESS_KEY_ID,
      awsSecretAccessKey: SECRET_ACCESS_KEY,
    };
  }

  /** Environment of a process with pylance. */
  get environment(): Record<string, string> {
    return {
      AWS_ENDPOINT: this.endpoint,
      AWS_REGION: this.region,
      AWS_ALLOW_HTTP: "true",
      AWS_ACCESS_KEY_ID: ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY: SECRET_ACCESS_KEY,
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

async function startMoto(port: number): Promise<ChildProcess> {
  const python = await environment("moto");
  const args = ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)];
  return spawn(python, args, { stdio: "ignore" });
}

async function startMinio(port: number): Promise<ChildProcess> {
  const program = await minioProgram();
  const args = ["server", "--quiet", "--address", `127.0.0.1:${port}`, await makeTempDir()];
  const env = {
    ...process.env,
    MINIO_ROOT_USER: ACCESS_KEY_ID,
    MINIO_ROOT_PASSWORD: SECRET_ACCESS_KEY,
    MINIO_BROWSER: "off",
    MINIO_UPDATE: "off",
  };
  return spawn(program, args, { stdio: "ignore", env });
}

const MINIO_PROGRAM = process.env.TILTYARD_MINIO ?? join(ENGINES, MINIO.replace(/^.*@/, "minio-"), "minio");

/** Returns true if MinIO need not be built. */
export const isMinioBuilt = (): Promise<boolean> =>
  access(MINIO_PROGRAM).then(
    () => true,
    () => false,
  );

/** Returns the path of MinIO's program, which is built once. */
async function minioProgram(): Promise<string> {
  if (process.env.TILTYARD_MINIO !== undefined || (await isMinioBuilt())) return MINIO_PROGRAM;
  const env = { ...process.env, GOBIN: dirname(MINIO_PROGRAM), CGO_ENABLED: "0" };
  try {
    await promisify(execFile)("go", ["install", "-trimpath", MINIO], { env, timeout: BUILD_MS });
  } catch (cause) {
    throw new Error("MinIO needs Go to be built, or TILTYARD_MINIO to name its program", { cause });
  }
  return MINIO_PROGRAM;
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilServing(child: ChildProcess, url: string): Promise<void> {
  let failure: unknown = null;
  child.once("error", (error) => {
    failure = error;
  });
  for (const endMs = Date.now() + START_MS; Date.now() < endMs; ) {
    if (failure !== null || child.exitCode !== null) break;
    const isUp = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill("SIGKILL");
  throw new Error(`the server at ${url} did not start`, { cause: failure ?? child.exitCode });
}
