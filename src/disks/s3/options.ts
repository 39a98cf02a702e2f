/** Options of a disk in an S3 bucket, checked and copied when the disk is made. */

import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { checkOptionMembers, isObject, shortly } from "../../optionMembers.js";
import { resolve } from "../../platform/native.js";
import { cacheBytesOf } from "../http/blockCache.js";

/** Credentials of S3. The objects that AWS's own credential providers return have this form. */
export interface S3Credentials {
  /** Public part of the key. */
  readonly accessKeyId: string;
  /** Secret part of the key. No message or log contains it. */
  readonly secretAccessKey: string;
  /** Token of temporary credentials. */
  readonly sessionToken?: string | undefined;
  /** Time at which temporary credentials end. */
  readonly expiration?: Date | undefined;
}

/** Options of `s3Disk`. */
export interface S3DiskOptions {
  /** Name of the bucket, which exists. */
  readonly bucket: string;
  /** Keys of the disk begin with this prefix and a slash. Default: the disk is the whole bucket. */
  readonly prefix?: string | undefined;
  /** URL of the server. Default: Amazon's, for the region. */
  readonly endpoint?: string | URL | undefined;
  /** Region of the bucket. Default: `us-east-1`, which most other servers than Amazon's take. */
  readonly region?: string | undefined;
  /**
   * Credentials, or a function that returns them. The disk calls the function before its first request, again
   * five minutes before `expiration`, and when the server says that they have expired. Default: requests are
   * not signed, as public buckets allow.
   */
  readonly credentials?: S3Credentials | (() => S3Credentials | Promise<S3Credentials>) | undefined;
  /**
   * True: the bucket is part of the host name. False: it is the first part of the path. Default: true for
   * Amazon's servers, unless the name of the bucket contains a dot; false with `endpoint`.
   */
  readonly virtualHostedStyle?: boolean | undefined;
  /** Attempts of a request before its failure counts. Default: 8. */
  readonly maxAttempts?: number | undefined;
  /** Milliseconds without a byte from the server after which an attempt is given up. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Bytes of a part of a large file, from 5 MiB to 5 GiB. Files up to this size need one request. A file has
   * at most 10,000 parts. The writer of a file holds up to four parts in memory. Default: 16 MiB.
   */
  readonly partBytes?: number | undefined;
  /** Maximum bytes of blocks of files that stay in memory. Default: 32 MiB. */
  readonly cacheBytes?: number | undefined;
  /** Sends the requests. Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch | undefined;
}

/** Checked options. */
export interface S3Settings {
  readonly bucket: string;
  /** Without slashes at its ends; empty for the whole bucket. */
  readonly prefix: string;
  /** URL of the bucket, without a slash at its end. */
  readonly bucketUrl: string;
  /** URL of the server, as other engines take it; undefined for Amazon's. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly credentials: S3DiskOptions["credentials"];
  readonly virtualHostedStyle: boolean;
  readonly maxAttempts: number;
  readonly timeoutMs: number;
  readonly partBytes: number;
  readonly cacheBytes: number;
  readonly fetch: typeof fetch;
}

const MIB = 1024 * 1024;

const OPTION_NAMES: readonly (keyof S3DiskOptions)[] = [
  "bucket",
  "prefix",
  "endpoint",
  "region",
  "credentials",
  "virtualHostedStyle",
  "maxAttempts",
  "timeoutMs",
  "partBytes",
  "cacheBytes",
  "fetch",
];

/**
 * Returns a checked copy of the options.
 * @param options unchecked
 * @throws InvalidInputError naming the option; UnsupportedError for commits through DynamoDB
 */
export function s3SettingsOf(options: S3DiskOptions): S3Settings {
  if (!isObject(options)) {
    throw new InvalidInputError(`s3Disk: options must be an object, not ${shortly(options)}`);
  }
  for (const address of [options.endpoint, options.bucket]) refuseDynamoDb(String(address));
  checkOptionMembers("s3Disk", options, OPTION_NAMES);
  const { credentials, region = "us-east-1" } = options;
  const bucket = bucketOf(options.bucket);
  const prefix = prefixOf(options.prefix);
  const endpoint = options.endpoint === undefined ? undefined : endpointOf(options.endpoint);
  if (typeof region !== "string" || !/^[a-z0-9][a-z0-9-]{0,62}$/i.test(region)) {
    throw new InvalidInputError(`region: must be a name such as "eu-central-1", not ${shortly(region)}`);
  }
  if (credentials !== undefined && typeof credentials !== "function") checkCredentials(credentials);
  const virtualHostedStyle = options.virtualHostedStyle ?? (endpoint === undefined && !bucket.includes("."));
  if (typeof virtualHostedStyle !== "boolean") {
    throw new InvalidInputError(
      `virtualHostedStyle: must be true or false, not ${shortly(virtualHostedStyle)}`,
    );
  }
  const server = endpoint ?? `https://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  const sender = options.fetch ?? globalThis.fetch;
  if (typeof sender !== "function") {
    throw new InvalidInputError(`fetch: must be a function, not ${shortly(sender)}`);
  }
  return {
    bucket,
    prefix,
    bucketUrl: virtualHostedStyle ? server.replace("://", `://${bucket}.`) : `${server}/${bucket}`,
    endpoint,
    region,
    credentials: typeof credentials === "object" ? { ...credentials } : credentials,
    virtualHostedStyle,
    maxAttempts: integerOf(options.maxAttempts, "maxAttempts", 8, 1, 100),
    timeoutMs: integerOf(options.timeoutMs, "timeoutMs", 30_000, 100, 3_600_000),
    partBytes: integerOf(options.partBytes, "partBytes", 16 * MIB, 5 * MIB, 5 * 1024 * MIB),
    cacheBytes: cacheBytesOf(options.cacheBytes),
    fetch: sender,
  };
}

/**
 * Refuses an address of LanceDB that asks for commits through DynamoDB.
 * @throws UnsupportedError
 */
function refuseDynamoDb(address: string): void {
  if (!/^s3\+ddb:/i.test(address)) return;
  throw new UnsupportedError(
    "s3+ddb: commits through a DynamoDB table are not supported. Writers that use it and writers that use " +
      "conditional puts (s3://) overwrite each other's versions, so all writers of a table must use s3://",
  );
}

function bucketOf(bucket: unknown): string {
  const isName = typeof bucket === "string" && /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i.test(bucket);
  if (isName && !bucket.includes("..")) return bucket;
  throw new InvalidInputError(
    `bucket: must be the name of a bucket, of 3 to 63 letters, digits, dots and hyphens, not ${shortly(bucket)}`,
  );
}

/**
 * Returns a prefix without slashes at its ends.
 * @throws InvalidInputError if it cannot begin keys
 */
export function prefixOf(prefix: unknown = ""): string {
  if (typeof prefix === "string") {
    const trimmed = prefix.replace(/^\/+|\/+$/g, "");
    const names = trimmed === "" ? [] : trimmed.split("/");
    const isKey = names.every((name) => isKeyName(name)) && trimmed.length <= 512;
    if (isKey) return trimmed;
  }
  throw new InvalidInputError(
    `prefix: must be a text such as "lake/tables", without empty parts, "." and "..", not ${shortly(prefix)}`,
  );
}

/** Returns the address of a key of a bucket for other engines. An empty key means the bucket. */
export const bucketAddress = (bucket: string, key: string): string =>
  `s3://${bucket}${key === "" ? "" : `/${key}`}`;

/** Returns the path of an address below that of the disk's root; null if it is elsewhere. */
export function pathInBucket(root: string, uri: string): string | null {
  if (uri === root) return resolve("/");
  return uri.startsWith(`${root}/`) ? resolve("/", uri.slice(root.length + 1)) : null;
}

/** True if a text can be one part of a key. URLs cannot hold `.` and `..` as parts. */
export const isKeyName = (name: string): boolean =>
  name !== "" && name !== "." && name !== ".." && !/[\0/]/.test(name) && !LONE_SURROGATE.test(name);

/** Half of a character, which no URL can hold. */
const LONE_SURROGATE = /\p{Surrogate}/u;

function endpointOf(endpoint: unknown): string {
  const text = String(endpoint);
  let url: URL | null = null;
  try {
    url = new URL(text);
  } catch (cause) {
    throw new InvalidInputError(`endpoint: must be the URL of a server, not ${shortly(text)}`, { cause });
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new InvalidInputError(`endpoint: must be an https: or http: URL, not ${shortly(text)}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidInputError("endpoint: must not contain a user; use the option credentials");
  }
  if (url.search !== "" || url.hash !== "") {
    throw new InvalidInputError(`endpoint: must have no query, unlike ${shortly(text)}`);
  }
  return url.href.replace(/\/+$/, "");
}

/**
 * Checks that credentials have their members.
 * @throws InvalidInputError naming the member, never its value
 */
export function checkCredentials(credentials: unknown): asserts credentials is S3Credentials {
  const {
    accessKeyId,
    secretAccessKey,
    sessionToken,
    expiration = null,
  } = isObject(credentials) ? (credentials as Partial<S3Credentials>) : {};
  for (const [name, value] of Object.entries({ accessKeyId, secretAccessKey, sessionToken })) {
    if (value === undefined && name === "sessionToken") continue;
    if (typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) continue;
    throw new InvalidInputError(`credentials.${name}: must be a text of printable characters without spaces`);
  }
  if (expiration !== null && !Number.isFinite(Number(expiration))) {
    throw new InvalidInputError("credentials.expiration: must be a Date");
  }
}

function integerOf(
  value: number | undefined,
  option: string,
  fallback: number,
  least: number,
  most: number,
): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new InvalidInputError(
    `${option}: must be an integer from ${least} to ${most}, not ${shortly(value)}`,
  );
}
