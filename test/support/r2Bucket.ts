/** A bucket of R2 in memory, with the calls of a Worker's binding. Calls may fail after they have done their work. */

import { createHash } from "node:crypto";
import type { R2BucketBinding } from "tiltyard/disks";

type Call = Exclude<keyof R2BucketBinding, "createMultipartUpload"> | "uploadPart";
type State = NonNullable<Awaited<ReturnType<R2BucketBinding["head"]>>>;

interface Stored {
  readonly state: State;
  readonly bytes: Uint8Array;
}

export interface TestBucket extends R2BucketBinding {
  readonly objects: ReadonlyMap<string, Stored>;
  /** Number of uploads that were neither completed nor aborted. */
  openUploads: number;
  /** Returns the error of a call whose answer is lost; undefined: the answer arrives. */
  lose: (call: Call, index: number) => Error | undefined;
}

/** Error as R2 words it. */
export const failure = (call: string, code: number): Error => new Error(`${call}: it failed (${code})`);

export function r2Bucket(pageSize = 7): TestBucket {
  const objects = new Map<string, Stored>();
  let calls = 0;
  const answer = <T>(call: Call, value: T): T => {
    const error = bucket.lose(call, calls++);
    if (error !== undefined) throw error;
    return value;
  };
  const store = (key: string, bytes: Uint8Array, customMetadata: Record<string, string> = {}): State => {
    const etag = createHash("md5").update(bytes).digest("hex");
    const state = { key, size: bytes.length, etag, uploaded: new Date(), customMetadata };
    objects.set(key, { state, bytes: bytes.slice() });
    return state;
  };
  /** Returns true if a condition of R2 holds for a key. */
  const holds = (key: string, { onlyIf }: NonNullable<Parameters<R2BucketBinding["put"]>[2]> = {}) => {
    const present = objects.get(key)?.state;
    if (onlyIf === undefined) return true;
    return "etagMatches" in onlyIf ? present?.etag === onlyIf.etagMatches : present === undefined;
  };
  const bucket: TestBucket = {
    objects,
    openUploads: 0,
    lose: () => undefined,
    head: async (key) => answer("head", objects.get(key)?.state ?? null),
    async get(key, options = {}) {
      const object = objects.get(key);
      if (object === undefined) return answer("get", null);
      const { state, bytes } = object;
      if (!holds(key, options)) return answer("get", state);
      const { range } = options;
      let part = bytes;
      if (range !== undefined) {
        const start = "suffix" in range ? Math.max(0, bytes.length - range.suffix) : range.offset;
        if (start >= bytes.length) throw failure("get", 10039);
        part = bytes.slice(start, "suffix" in range ? bytes.length : start + range.length);
      }
      return answer("get", { ...state, arrayBuffer: async () => part.slice().buffer as ArrayBuffer });
    },
    async put(key, bytes, options) {
      return answer("put", holds(key, options) ? store(key, bytes, options?.customMetadata) : null);
    },
    async delete(keys) {
      for (const key of [keys].flat()) objects.delete(key);
      answer("delete", undefined);
    },
    async list({ prefix = "", delimiter, cursor = "", limit = pageSize }) {
      const names = new Set<string>();
      for (const key of [...objects.keys()].sort()) {
        if (!key.startsWith(prefix)) continue;
        const end = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length);
        names.add(end < 0 ? key : key.slice(0, end + 1));
      }
      const rest = [...names].filter((name) => name > cursor);
      const page = rest.slice(0, Math.min(limit, pageSize));
      const isGroup = (name: string) => delimiter !== undefined && name.endsWith(delimiter);
      return answer("list", {
        objects: page.flatMap((name) => (isGroup(name) ? [] : [(objects.get(name) as Stored).state])),
        delimitedPrefixes: page.filter(isGroup),
        truncated: page.length < rest.length,
        cursor: page.at(-1),
      });
    },
    async createMultipartUpload(key) {
      const parts = new Map<number, Uint8Array>();
      bucket.openUploads++;
      return {
        async uploadPart(partNumber, bytes) {
          parts.set(partNumber, bytes.slice());
          return answer("uploadPart", { partNumber });
        },
        async complete(named) {
          bucket.openUploads--;
          const numbers = (named as { readonly partNumber: number }[]).map(({ partNumber }) => partNumber);
          const whole = Buffer.concat(numbers.map((number) => parts.get(number) as Uint8Array));
          return store(key, new Uint8Array(whole));
        },
        async abort() {
          bucket.openUploads--;
        },
      };
    },
  };
  return bucket;
}
