/**
 * Databases in buckets of S3, by addresses such as `s3://bucket/prefix`. Endpoint, region and credentials
 * come from the storage options of the connection, by the names that LanceDB takes, and then from the
 * environment.
 */

import { lazyModule } from "../async/lazy.js";
import { completeDisk } from "../io/completeDisk.js";
import type { DiskImplementation } from "../io/disk/disk.js";
import { failure, translated } from "./failures.js";
import { meteredDisk } from "./metrics/meteredDisk.js";
import { isRecording } from "./metrics/recorder.js";

/** Loaded with the first database in a bucket. */
const disks = lazyModule(() => import("../disks/s3/s3Disk.js"));

/** Storage options with names in snake case. */
type StorageOptions = Readonly<Record<string, string>>;

/** True if an address names a bucket, or asks for commits through DynamoDB, which are refused by name. */
export const isBucketAddress = (scheme: string | undefined): boolean =>
  scheme === "s3" || scheme === "s3a" || scheme === "s3+ddb";

/** Options of a namespace that say where its files are. */
interface Bucket {
  readonly root: string;
  readonly disk: DiskImplementation;
}

/**
 * Returns the disk of an address.
 * @throws Error for a wrong address or option, with LanceDB's prefix
 */
export async function bucketOf(uri: string, options: StorageOptions = {}): Promise<Bucket> {
  const { s3Disk } = await disks.get();
  const address = /^([a-z0-9+]+):\/\/([^/?#]*)(?:\/([^?#]*))?/i.exec(uri);
  const [, scheme = "", bucket = "", prefix = ""] = address ?? [];
  const endpoint = optionOf(options, ENDPOINT);
  if (endpoint?.startsWith("http:") && optionOf(options, ["allow_http"]) !== "true") {
    throw failure(`Invalid input, allow_http must be "true" for the endpoint ${endpoint}`);
  }
  const accessKeyId = optionOf(options, ["access_key_id"]);
  const secretAccessKey = optionOf(options, ["secret_access_key"]);
  const isSigned = optionOf(options, ["skip_signature"]) !== "true";
  if (isSigned && (accessKeyId === undefined || secretAccessKey === undefined)) {
    throw failure(
      "Invalid input, storageOptions: awsAccessKeyId and awsSecretAccessKey are needed, or awsSkipSignature",
    );
  }
  const isVirtual = optionOf(options, ["virtual_hosted_style_request"]);
  try {
    const disk = s3Disk({
      bucket: scheme.toLowerCase() === "s3+ddb" ? uri : bucket,
      prefix: decodeURIComponent(prefix),
      endpoint,
      region: optionOf(options, ["region", "default_region"]),
      virtualHostedStyle: isVirtual === undefined ? undefined : isVirtual === "true",
      ...(isSigned && {
        credentials: {
          accessKeyId: accessKeyId as string,
          secretAccessKey: secretAccessKey as string,
          sessionToken: optionOf(options, ["session_token", "token"]),
        },
      }),
    });
    // Counting costs time, so only programs that asked for metrics pay for it.
    return { root: "/", disk: isRecording() ? meteredDisk(completeDisk(disk)) : disk };
  } catch (error) {
    throw translated(error);
  }
}

const ENDPOINT = ["endpoint", "endpoint_url"];

/** Returns an option by one of its names, with or without `aws_`, or a variable of the environment. */
function optionOf(options: StorageOptions, names: readonly string[]): string | undefined {
  const folded = new Map(Object.entries(options).map(([name, value]) => [name.toLowerCase(), value]));
  const stated = names.flatMap((name) => [folded.get(`aws_${name}`), folded.get(name)]);
  const environment = typeof process === "undefined" ? {} : process.env;
  const shared = names.map((name) => environment[`AWS_${name.toUpperCase()}`]);
  return [...stated, ...shared].find((value) => value !== undefined && value !== "");
}
