/**
 * A disk in an S3 bucket, or in one of a server that speaks its protocol. A file is an object, and the disk
 * has no directories: one exists while keys begin with its name and a slash. Tables have the layout and the
 * commits of Lance, so other engines read and write them at the same time.
 */

import { runParallel } from "../../async/parallel.js";
import type {
  AllocateTail,
  DirectoryEntry,
  DiskImplementation,
  ReadHandle,
  StoredStat,
  WriteHandle,
} from "../../io/disk/disk.js";
import { diskError } from "../../io/disk/errno.js";
import { LruCache } from "../../io/memory/cache.js";
import { BlockCache } from "../http/blockCache.js";
import { hostPathOf, isImmutable } from "../http/hostPaths.js";
import { keyOf } from "../http/httpFile.js";
import { S3Client } from "./client.js";
import { putObject } from "./conditionalPut.js";
import { ConditionProof } from "./conditionProof.js";
import { CredentialSource } from "./credentials.js";
import { listKeys } from "./listing.js";
import { ObjectUpload } from "./multipart.js";
import {
  etagOfIdentity,
  identityOf,
  keepTail,
  knownFileOf,
  ObjectHandle,
  type RangeReader,
} from "./objectHandle.js";
import { isRoot, ObjectKeys } from "./objectKeys.js";
import { headObject, type ObjectState, readObject, readRange, readTail } from "./objectReads.js";
import {
  bucketAddress,
  isKeyName,
  pathInBucket,
  type S3DiskOptions,
  type S3Settings,
  s3SettingsOf,
} from "./options.js";

/** Storage options that LanceDB, pylance and Spark need to open the bucket. */
export type S3StorageOptions = Readonly<Record<string, string>>;

/** A disk in an S3 bucket. */
export interface S3Disk extends DiskImplementation {
  /** Returns the address of a file or directory for other engines, such as `s3://bucket/prefix/t.lance`. */
  uriOf(path: string): string;
  /** Returns the path of such an address; null if it is not on this disk. */
  pathOf(uri: string): string | null;
  /**
   * Returns the options with which other engines open the bucket: endpoint, region and the disk's own
   * credentials. They are secrets. A server may pass them to callers that it trusts with the bucket.
   */
  storageOptions(): Promise<S3StorageOptions>;
}

/** Maximum bytes of the states of objects that never change. */
const MAX_KNOWN_BYTES = 4 * 1024 * 1024;
/** Bytes of a state beside its key. */
const KNOWN_BYTES = 200;
/** Objects of a tree that are removed at a time. */
const REMOVED_AT_ONCE = 32;

/**
 * Returns a disk in an S3 bucket.
 *
 *     const credentials = { accessKeyId, secretAccessKey };
 *     const disk = s3Disk({ bucket: "lake", region: "eu-central-1", credentials });
 *     const ns = new DirectoryNamespace({ root: "/", disk });
 *
 * @throws InvalidInputError naming the option; UnsupportedError for addresses with `s3+ddb:`
 */
export function s3Disk(options: S3DiskOptions): S3Disk {
  return new BucketDisk(s3SettingsOf(options));
}

class BucketDisk implements S3Disk {
  readonly hasLinks = false;
  readonly #client: S3Client;
  readonly #settings: S3Settings;
  readonly #keys: ObjectKeys;
  readonly #credentials: CredentialSource;
  readonly #conditions: ConditionProof;
  readonly #blocks: BlockCache;
  readonly #readRange: RangeReader;
  /** States of objects that never change, by key. */
  readonly #lasting = new LruCache<ObjectState>(MAX_KNOWN_BYTES);

  constructor(settings: S3Settings) {
    this.#settings = settings;
    this.#keys = new ObjectKeys(settings.prefix);
    this.#credentials = new CredentialSource(settings.credentials);
    this.#client = new S3Client(settings, this.#credentials);
    this.#blocks = new BlockCache(settings.cacheBytes);
    this.#readRange = (state, byteOffset, memory) => readRange(this.#client, state, byteOffset, memory);
    this.#conditions = new ConditionProof(this.#client, this.#keys.directoryKeyOf("/"));
  }

  async open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle | null> {
    if (isRoot(path)) return null;
    const key = this.#keys.keyOf(path);
    // Files of unique names never change: opened again, they need no request. Reads notice a removal.
    const isLasting = isImmutable(hostPathOf(path));
    const lasting = isLasting ? this.#lasting.peek(key) : undefined;
    if (tailBytes === undefined || tailBytes < 1) {
      const state = lasting ?? (await headObject(this.#client, key, path));
      if (state === null) return null;
      if (isLasting) this.#lasting.set(key, state, key.length + KNOWN_BYTES);
      return new ObjectHandle(this.#readRange, this.#blocks, state, null);
    }
    if (lasting !== undefined) {
      const tail = this.#blocks.tail(
        keyOf(knownFileOf(lasting)),
        lasting.size,
        Math.min(tailBytes, lasting.size),
      );
      if (tail.length > 0) return this.#handleWith(lasting, tail, allocate);
    }
    const read = await readTail(this.#client, key, path, tailBytes);
    if (read === null) return null;
    if (isLasting) this.#lasting.set(key, read.state, key.length + KNOWN_BYTES);
    keepTail(this.#blocks, read.state, read.tail);
    return this.#handleWith(read.state, read.tail, allocate);
  }

  #handleWith(state: ObjectState, tail: Uint8Array, allocate: AllocateTail | undefined): ReadHandle {
    const isWhole = allocate !== undefined && tail.length === state.size;
    const memory = isWhole ? allocate(state.size) : tail;
    if (isWhole) memory.set(tail);
    return new ObjectHandle(this.#readRange, this.#blocks, state, memory);
  }

  async readFile(path: string, maxBytes = Number.MAX_SAFE_INTEGER): Promise<Uint8Array | null> {
    return isRoot(path) ? null : readObject(this.#client, this.#keys.keyOf(path), path, maxBytes);
  }

  async list(path: string): Promise<DirectoryEntry[] | null> {
    const entries: DirectoryEntry[] = [];
    const pages = listKeys(this.#client, this.#keys.directoryKeyOf(path), { isGrouped: true });
    for await (const { objects, groups } of pages) {
      for (const { name } of objects) if (isKeyName(name)) entries.push({ name, kind: "file" });
      for (const group of groups) {
        const name = group.slice(0, -1);
        if (isKeyName(name)) entries.push({ name, kind: "directory" });
      }
    }
    return entries.length === 0 ? null : entries;
  }

  async stat(path: string): Promise<StoredStat | null> {
    if (isRoot(path)) return this.#statDirectory(path);
    const key = this.#keys.keyOf(path);
    // The first key from this one on mostly tells what the path is. For a file, asking for it costs less.
    const first = isLikelyFile(path) ? "unclear" : await this.#firstFrom(key);
    if (first !== "unclear") return first;
    const state = await headObject(this.#client, key, path);
    return state === null ? this.#statDirectory(path) : statOf(state);
  }

  /** Returns what the first key that begins with this one tells of it. */
  async #firstFrom(key: string): Promise<StoredStat | null | "unclear"> {
    for await (const { objects } of listKeys(this.#client, key, { isGrouped: false, pageSize: 1 })) {
      const [object] = objects;
      if (object === undefined) continue;
      if (object.name.startsWith("/")) return { kind: "directory", size: 0 };
      // Keys such as `a-b` come before `a/b`.
      const isComplete = object.name === "" && Number.isSafeInteger(object.size) && object.etag !== "";
      return isComplete ? statOf(object) : "unclear";
    }
    return null;
  }

  async #statDirectory(path: string): Promise<StoredStat | null> {
    const prefix = this.#keys.directoryKeyOf(path);
    for await (const { objects } of listKeys(this.#client, prefix, { isGrouped: false, pageSize: 1 })) {
      if (objects.length > 0) return { kind: "directory", size: 0 };
    }
    return null;
  }

  async create(path: string): Promise<WriteHandle> {
    const upload = new ObjectUpload(this.#client, this.#keys.fileKeyOf(path), { ifNoneMatch: "*" });
    let hasFailed = false;
    return {
      takesChunksAtOnce: true,
      async write(chunks) {
        try {
          for (const chunk of chunks) await upload.write(chunk);
        } catch (error) {
          hasFailed = true;
          throw error;
        }
      },
      // The bytes are in memory or in parts until the file is closed.
      sync: async () => undefined,
      discard: () => upload.discard(),
      async close() {
        if (hasFailed) return upload.discard();
        if ((await upload.finish()) === null) throw diskError("EEXIST", "open", path);
      },
    };
  }

  async putIfAbsent(path: string, chunks: readonly Uint8Array[]): Promise<boolean | string> {
    const key = this.#keys.fileKeyOf(path);
    const body = privateCopy(chunks);
    await this.#conditions.confirm();
    // One request: some servers check the condition of a put, but not that of an upload in parts.
    const outcome = await putObject(this.#client, key, body, { ifNoneMatch: "*" });
    if (outcome === null) return false;
    const { etag } = outcome;
    return etag === "" || identityOf({ etag, size: body.length, modifiedNs: 0n });
  }

  async replaceIf(
    path: string,
    chunks: readonly Uint8Array[],
    identity: string | null,
  ): Promise<string | null> {
    const body = privateCopy(chunks);
    const condition = identity === null ? undefined : { ifMatch: etagOfIdentity(identity) };
    if (condition !== undefined) await this.#conditions.confirm();
    const outcome = await putObject(this.#client, this.#keys.fileKeyOf(path), body, condition);
    return outcome && identityOf({ etag: outcome.etag, size: body.length, modifiedNs: 0n });
  }

  async remove(path: string): Promise<void> {
    const key = this.#keys.fileKeyOf(path);
    this.#lasting.delete(key);
    await this.#client.send({ method: "DELETE", key, accepts: [404] });
  }

  async removeTree(path: string): Promise<void> {
    const prefix = this.#keys.directoryKeyOf(path);
    this.#lasting.clear();
    for await (const { objects } of listKeys(this.#client, prefix, { isGrouped: false })) {
      await runParallel(objects.length, REMOVED_AT_ONCE, async (index) => {
        await this.#client.send({ method: "DELETE", key: prefix + objects[index].name, accepts: [404] });
      });
    }
    if (!isRoot(path)) await this.remove(path);
  }

  uriOf(path: string): string {
    const key = this.#keys.keyOf(path);
    return bucketAddress(this.#settings.bucket, key);
  }

  pathOf(uri: string): string | null {
    const { bucket, prefix } = this.#settings;
    return pathInBucket(bucketAddress(bucket, prefix), uri);
  }

  async storageOptions(): Promise<S3StorageOptions> {
    const { endpoint, region, virtualHostedStyle } = this.#settings;
    const credentials = await this.#credentials.current();
    const options: Record<string, string> = {
      aws_region: region,
      aws_virtual_hosted_style_request: String(virtualHostedStyle),
    };
    if (endpoint !== undefined) {
      options.aws_endpoint = endpoint;
      if (endpoint.startsWith("http:")) options.allow_http = "true";
    }
    if (credentials === null) {
      options.aws_skip_signature = "true";
      return options;
    }
    options.aws_access_key_id = credentials.accessKeyId;
    options.aws_secret_access_key = credentials.secretAccessKey;
    if (credentials.sessionToken !== undefined) options.aws_session_token = credentials.sessionToken;
    if (credentials.expiration !== undefined) {
      options.expires_at_millis = String(Number(credentials.expiration));
    }
    return options;
  }
}

/** True if a path names a manifest or a file of a unique name, which callers look at when it exists. */
const isLikelyFile = (path: string): boolean => path.endsWith(".manifest") || isImmutable(hostPathOf(path));

/** Returns the stat of a file. */
const statOf = ({
  size,
  etag,
  modifiedNs,
}: Pick<ObjectState, "size" | "etag" | "modifiedNs">): StoredStat => ({
  kind: "file",
  size,
  modifiedNs,
  identity: identityOf({ etag, size, modifiedNs }),
});

/** Copies chunks, which may lie in shared memory, into one array. */
function privateCopy(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let position = 0;
  for (const chunk of chunks) {
    whole.set(chunk, position);
    position += chunk.length;
  }
  return whole;
}
