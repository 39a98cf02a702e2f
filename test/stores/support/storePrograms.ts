/** Programs of S3 servers: moto is written in Python; SeaweedFS, which PyPI has as a program, and MinIO in Go. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { access, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ENGINES, environment } from "../../engines/support/environments.js";
import { makeTempDir } from "../../support/tempDir.js";
import type { StoreName } from "./storeNames.js";

/** Release of MinIO, as a version of its Go module. */
const MINIO = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c";
const BUILD_MS = 3_600_000;
const START_MS = 120_000;

const isWindows = process.platform === "win32";

/** The key of a server's administrator. */
export interface StoreKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A server that answers requests. */
export interface RunningProgram {
  readonly child: ChildProcess;
  readonly endpoint: string;
}

interface StoreProgram {
  /** Path that is answered with success when the server is ready. */
  readonly readyPath: string;
  /** @param port of S3 on the loopback address */
  start(port: number, key: StoreKey): Promise<ChildProcess>;
}

const PROGRAMS: Readonly<Record<StoreName, StoreProgram>> = {
  moto: { readyPath: "/", start: startMoto },
  SeaweedFS: { readyPath: "/healthz", start: startSeaweed },
  MinIO: { readyPath: "/minio/health/live", start: startMinio },
};

/** Starts a server, which is installed first if it is not there. */
export async function startProgram(name: StoreName, key: StoreKey): Promise<RunningProgram> {
  const { readyPath, start } = PROGRAMS[name];
  const port = await freePort();
  const child = await start(port, key);
  const endpoint = `http://127.0.0.1:${port}`;
  await untilServing(child, `${endpoint}${readyPath}`);
  return { child, endpoint };
}

async function startMoto(port: number): Promise<ChildProcess> {
  const python = await environment("moto");
  const args = ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)];
  return spawn(python, args, { stdio: "ignore" });
}

async function startSeaweed(port: number, { accessKeyId, secretAccessKey }: StoreKey): Promise<ChildProcess> {
  const program = join(dirname(await environment("seaweedfs")), isWindows ? "weed.exe" : "weed");
  const directory = await makeTempDir();
  const keys = join(directory, "keys.json");
  const credentials = [{ accessKey: accessKeyId, secretKey: secretAccessKey }];
  await writeFile(keys, JSON.stringify({ identities: [{ name: "tests", credentials, actions: ["Admin"] }] }));
  const grpcPorts: Record<string, number> = {};
  const ports: string[] = [];
  for (const part of ["master", "volume", "filer", "s3"]) {
    if (part !== "s3") ports.push(`-${part}.port=${await freePort()}`);
    grpcPorts[part] = await freePort();
    ports.push(`-${part}.port.grpc=${grpcPorts[part]}`);
  }
  const args = [
    "server",
    `-dir=${directory}`,
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    ...ports,
    "-volume.max=0",
    "-master.volumeSizeLimitMB=256",
    "-s3",
    `-s3.port=${port}`,
    `-s3.config=${keys}`,
    `-s3.localSocket=${join(directory, "s3.sock")}`,
    `-filer.localSocket=${join(directory, "filer.sock")}`,
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
  ];
  const child = spawn(program, args, { stdio: "ignore", env: { ...process.env, TMPDIR: directory } });
  child.once("exit", () => {
    // It has no option for these.
    for (const [part, grpcPort] of Object.entries(grpcPorts)) {
      rmSync(`/tmp/seaweedfs-${part}-grpc-${grpcPort}.sock`, { force: true });
    }
  });
  return child;
}

async function startMinio(port: number, { accessKeyId, secretAccessKey }: StoreKey): Promise<ChildProcess> {
  const program = await minioProgram();
  const args = ["server", "--quiet", "--address", `127.0.0.1:${port}`, await makeTempDir()];
  const env = {
    ...process.env,
    MINIO_ROOT_USER: accessKeyId,
    MINIO_ROOT_PASSWORD: secretAccessKey,
    MINIO_BROWSER: "off",
    MINIO_UPDATE: "off",
  };
  return spawn(program, args, { stdio: "ignore", env });
}

/** Returns the path of MinIO's program, which is built once. */
async function minioProgram(): Promise<string> {
  const { TILTYARD_MINIO } = process.env;
  if (TILTYARD_MINIO !== undefined) return TILTYARD_MINIO;
  const program = join(ENGINES, MINIO.replace(/^.*@/, "minio-"), "minio");
  const isBuilt = await access(program).then(
    () => true,
    () => false,
  );
  if (isBuilt) return program;
  const env = { ...process.env, GOBIN: dirname(program), CGO_ENABLED: "0" };
  try {
    await promisify(execFile)("go", ["install", "-trimpath", MINIO], { env, timeout: BUILD_MS });
  } catch (cause) {
    const remedies = "TILTYARD_MINIO to name its program, or STORES to leave it out";
    throw new Error(`MinIO needs Go to be built, or ${remedies}`, { cause });
  }
  return program;
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
