/**
 * A disk in a bucket of Cloudflare R2, through the binding of a Worker:
 *
 *     const ns = new DirectoryNamespace({ root: "/", disk: r2Disk(env.BUCKET) });
 *
 * A file is an object. The disk has no directories: one exists while keys begin with its name and a slash.
 * Tables have the layout and the commits of Lance, as with `s3Disk`, which can use the same bucket.
 */

import { sleep } from "../../async/sleep.js";
import { concatBytes } from "../../bytes/concat.js";
import { CorruptFileError, InternalError, InvalidInputError } from "../../errors.js";
import type {
  AllocateTail,
  DirectoryEntry,
  DiskImplementation,
  ReadHandle,
  StoredStat,
  WriteHandle,
} from "../../io/disk/disk.js";
import { diskError } from "../../io/disk/errno.js";
import { MAX_WHOLE_BYTES } from "../../io/disk/wholeFile.js";
import { checkOptionMembers, shortly } from "../../optionMembers.js";
import { BlockCache, cacheBytesOf } from "../http/blockCache.js";
import { namesOfPath } from "../paths/pathNames.js";
import { etagOfIdentity, identityOf, keepTail, ObjectHandle } from "../s3/objectHandle.js";
import { isRoot, ObjectKeys } from "../s3/objectKeys.js";
import type { ObjectState } from "../s3/objectReads.js";
import { bucketAddress, isKeyName, pathInBucket, prefixOf } from "../s3/options.js";
import {
  persistently,
  type R2BucketBinding,
  type R2ObjectContent,
  type R2ObjectState,
  type R2Page,
} from "./binding.js";
import { IF_ABSENT, ObjectWriter, putByBinding } from "./writes.js";

/** Options of {@link r2Disk}. */
export interface R2DiskOptions {
  /** Keys of the disk begin with this prefix and a slash. Default: the disk is the whole bucket. */
  readonly prefix?: string | undefined;
  /**
   * Name of the bucket. With it, locations in answers are addresses for other engines, such as
   * `s3://bucket/t.lance`. Default: they are paths, because a binding does not tell its bucket.
   */
  readonly bucketName?: string | undefined;
  /** Maximum bytes of blocks of files that stay in memory. Default: 32 MiB. */
  readonly cacheBytes?: number | undefined;
}

/** Maximum number of keys that one call removes. */
const REMOVED_AT_ONCE = 1000;

/**
 * Returns a disk in a bucket of R2.
 * @param bucket the binding, such as `env.BUCKET`
 * @throws InvalidInputError for anything but a binding, or naming the option
 */
export function r2Disk(bucket: R2BucketBinding, options: R2DiskOptions = {}): DiskImplementation {
  for (const call of ["head", "get", "put", "delete", "list", "createMultipartUpload"] as const) {
    if (typeof (bucket as Partial<R2BucketBinding> | null)?.[call] === "function") continue;
    throw new InvalidInputError(`bucket: must be the binding of an R2 bucket, not ${shortly(bucket)}`);
  }
  checkOptionMembers("r2Disk", options, ["prefix", "bucketName", "cacheBytes"]);
  const { bucketName } = options;
  if (bucketName !== undefined && (typeof bucketName !== "string" || !isKeyName(bucketName))) {
    throw new InvalidInputError(`bucketName: must be the name of a bucket, not ${shortly(bucketName)}`);
  }
  const prefix = prefixOf(options.prefix);
  const disk = new BindingDisk(bucket, prefix, cacheBytesOf(options.cacheBytes));
  if (bucketName === undefined) return disk;
  const root = bucketAddress(bucketName, prefix);
  return Object.assign(disk, {
    uriOf: (path: string) => [root, ...namesOfPath(path)].join("/"),
    pathOf: (uri: string) => pathInBucket(root, uri),
  });
}

class BindingDisk implements DiskImplementation {
  readonly hasLinks = false;
  readonly #bucket: R2BucketBinding;
  readonly #keys: ObjectKeys;
  readonly #blocks: BlockCache;

  constructor(bucket: R2BucketBinding, prefix: string, cacheBytes: number) {
    this.#bucket = bucket;
    this.#keys = new ObjectKeys(prefix);
    this.#blocks = new BlockCache(cacheBytes);
  }

  async open(path: string, tailBytes = 0, allocate?: AllocateTail): Promise<ReadHandle | null> {
    if (isRoot(path)) return null;
    const key = this.#keys.keyOf(path);
    const object =
      tailBytes < 1 ? await this.#head(key) : await this.#get(key, { range: { suffix: tailBytes } });
    if (object === null) return null;
    const state = stateOf(object, path);
    const read = (_state: ObjectState, byteOffset: number, memory: Uint8Array) =>
      this.#readRange(state, byteOffset, memory);
    if (tailBytes < 1) return new ObjectHandle(read, this.#blocks, state, null);
    const tail = await bytesOf(object, Math.min(tailBytes, state.size));
    keepTail(this.#blocks, state, tail);
    const isWhole = allocate !== undefined && tail.length === state.size;
    const memory = isWhole ? allocate(state.size) : tail;
    if (isWhole) memory.set(tail);
    return new ObjectHandle(read, this.#blocks, state, memory);
  }

  async readFile(path: string, maxBytes = MAX_WHOLE_BYTES): Promise<Uint8Array | null> {
    if (isRoot(path)) return null;
    const object = await this.#get(this.#keys.keyOf(path), {});
    if (object === null) return null;
    if (object.size > maxBytes) throw new CorruptFileError(path, maxBytes, `more than ${maxBytes} bytes`);
    return bytesOf(object, object.size);
  }

  async list(path: string): Promise<DirectoryEntry[] | null> {
    const prefix = this.#keys.directoryKeyOf(path);
    const entries: DirectoryEntry[] = [];
    for await (const { objects, delimitedPrefixes = [] } of this.#pages({ prefix, delimiter: "/" })) {
      for (const { key } of objects) {
        const name = key.slice(prefix.length);
        if (isKeyName(name)) entries.push({ name, kind: "file" });
      }
      for (const group of delimitedPrefixes) {
        const name = group.slice(prefix.length, -1);
        if (isKeyName(name)) entries.push({ name, kind: "directory" });
      }
    }
    return entries.length === 0 ? null : entries;
  }

  async stat(path: string): Promise<StoredStat | null> {
    const object = isRoot(path) ? null : await this.#head(this.#keys.keyOf(path));
    if (object !== null) {
      const state = stateOf(object, path);
      const { size, modifiedNs } = state;
      return { kind: "file", size, modifiedNs, identity: identityOf(state) };
    }
    const prefix = this.#keys.directoryKeyOf(path);
    const { objects } = await persistently(() => this.#bucket.list({ prefix, limit: 1 }), sleep);
    return objects.length === 0 ? null : { kind: "directory", size: 0 };
  }

  async create(path: string): Promise<WriteHandle> {
    const taken = () => diskError("EEXIST", "open", path);
    return new ObjectWriter(this.#bucket, this.#keys.fileKeyOf(path), taken);
  }

  async putIfAbsent(path: string, chunks: readonly Uint8Array[]): Promise<string | false> {
    const key = this.#keys.fileKeyOf(path);
    // A copy, because chunks may lie in shared memory.
    const stored = await putByBinding(this.#bucket, key, concatBytes(chunks), IF_ABSENT);
    return stored !== null && identityOf(stateOf(stored, path));
  }

  async replaceIf(
    path: string,
    chunks: readonly Uint8Array[],
    identity: string | null,
  ): Promise<string | null> {
    const condition = identity === null ? undefined : { etagMatches: etagOfIdentity(identity) };
    const stored = await putByBinding(
      this.#bucket,
      this.#keys.fileKeyOf(path),
      concatBytes(chunks),
      condition,
    );
    return stored && identityOf(stateOf(stored, path));
  }

  async remove(path: string): Promise<void> {
    const key = this.#keys.fileKeyOf(path);
    await persistently(() => this.#bucket.delete(key), sleep);
  }

  async removeTree(path: string): Promise<void> {
    const prefix = this.#keys.directoryKeyOf(path);
    const keys: string[] = isRoot(path) ? [] : [this.#keys.keyOf(path)];
    for await (const { objects } of this.#pages({ prefix })) keys.push(...objects.map(({ key }) => key));
    for (let start = 0; start < keys.length; start += REMOVED_AT_ONCE) {
      const some = keys.slice(start, start + REMOVED_AT_ONCE);
      await persistently(() => this.#bucket.delete(some), sleep);
    }
  }

  async *#pages(options: Parameters<R2BucketBinding["list"]>[0]): AsyncGenerator<R2Page, void> {
    let cursor: string | undefined;
    do {
      const page = await persistently(
        () => this.#bucket.list({ ...options, ...(cursor !== undefined && { cursor }) }),
        sleep,
      );
      yield page;
      if (page.truncated && (page.cursor === undefined || page.cursor === cursor)) {
        throw new InternalError(`the list of ${options.prefix} does not end`);
      }
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined);
  }

  #head(key: string): Promise<R2ObjectState | null> {
    return persistently(() => this.#bucket.head(key), sleep);
  }

  /** Reads an object. R2 refuses a range of an object without bytes. */
  async #get(
    key: string,
    options: NonNullable<Parameters<R2BucketBinding["get"]>[1]>,
  ): Promise<R2ObjectContent | R2ObjectState | null> {
    try {
      return await persistently(() => this.#bucket.get(key, options), sleep);
    } catch (error) {
      const object = await this.#head(key);
      if (object === null || object.size === 0) return object;
      throw error;
    }
  }

  /** Reads a range of an object in the state in which it was opened. */
  async #readRange(state: ObjectState, byteOffset: number, memory: Uint8Array): Promise<void> {
    const { key, path, size, etag } = state;
    const { length } = memory;
    if (byteOffset + length > size) {
      const reason = `the read needs ${length} bytes from here, but the file ends at ${size}`;
      throw new CorruptFileError(path, byteOffset, reason);
    }
    if (length === 0) return;
    const options = { range: { offset: byteOffset, length }, onlyIf: { etagMatches: etag } };
    const object = await persistently(() => this.#bucket.get(key, options), sleep);
    if (object === null) {
      throw diskError("ENOENT", "read", path);
    }
    if (!("arrayBuffer" in object)) {
      throw new CorruptFileError(path, byteOffset, "the object was replaced while it was open");
    }
    memory.set(await bytesOf(object, length));
  }
}

const stateOf = ({ key, size, etag, uploaded }: R2ObjectState, path: string): ObjectState => ({
  key,
  path,
  size,
  etag,
  modifiedNs: BigInt(uploaded.getTime()) * 1_000_000n,
});

/**
 * Returns the bytes that came with an object.
 * @throws InternalError if there are not as many as were asked for
 */
async function bytesOf(object: R2ObjectContent | R2ObjectState, length: number): Promise<Uint8Array> {
  const bytes = "arrayBuffer" in object ? new Uint8Array(await object.arrayBuffer()) : new Uint8Array(0);
  if (bytes.length === length) return bytes;
  throw new InternalError(`R2 sent ${bytes.length} of ${length} bytes of ${object.key}`);
}
