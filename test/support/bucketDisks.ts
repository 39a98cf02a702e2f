/** Disks in the bucket of a server in this process, with a proxy between them. */

import { type S3Disk, type S3DiskOptions, s3Disk } from "tiltyard/disks";
import { onTestFinished } from "vitest";
import { FaultyProxy } from "./faultyProxy.js";
import { BUCKET, CREDENTIALS, S3Server, type S3ServerOptions } from "./s3Server.js";

export interface BucketSetup {
  readonly server: S3Server;
  readonly proxy: FaultyProxy;
  /** Opens a disk whose requests pass the proxy. */
  readonly open: (options?: Partial<S3DiskOptions>) => S3Disk;
}

/** Starts a server and a proxy that end with the test. */
export async function startBucket(options: S3ServerOptions = {}): Promise<BucketSetup> {
  const server = await S3Server.start(options);
  const proxy = await FaultyProxy.start(server.endpoint);
  onTestFinished(async () => {
    await proxy[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const { region } = server;
  const open = (more: Partial<S3DiskOptions> = {}): S3Disk =>
    s3Disk({ endpoint: proxy.endpoint, region, bucket: BUCKET, credentials: CREDENTIALS, ...more });
  return { server, proxy, open };
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array | null | undefined): string | null =>
  bytes ? new TextDecoder().decode(bytes) : null;
