/** The part of Cloudflare's R2 binding that the disk calls, as the declarations of Workers name it. */

/** An object of a bucket, without its bytes. */
export interface R2ObjectState {
  readonly key: string;
  readonly size: number;
  /** ETag without quotes. */
  readonly etag: string;
  /** Time of the last change. */
  readonly uploaded: Date;
  readonly customMetadata?: Readonly<Record<string, string>> | undefined;
}

/** An object with its bytes, or with the range that was asked for. */
export interface R2ObjectContent extends R2ObjectState {
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Condition of a call: the object has this ETag, or there is no object (`*`). */
export type R2Condition = Readonly<Record<"etagMatches", string>> | Readonly<Record<"etagDoesNotMatch", "*">>;

/** An upload in parts. */
export interface R2Upload {
  uploadPart(number: number, bytes: Uint8Array): Promise<unknown>;
  complete(parts: unknown[]): Promise<R2ObjectState>;
  abort(): Promise<void>;
}

/** A page of a list. */
export interface R2Page {
  readonly objects: readonly R2ObjectState[];
  readonly delimitedPrefixes?: readonly string[];
  readonly truncated: boolean;
  readonly cursor?: string | undefined;
}

/** A bucket: `env.BUCKET` of a Worker, an `R2Bucket` of `@cloudflare/workers-types`. */
export interface R2BucketBinding {
  head(key: string): Promise<R2ObjectState | null>;
  /** Returns null if the object does not exist, and a state without bytes if the condition does not hold. */
  get(
    key: string,
    options?: {
      readonly range?: { readonly offset: number; readonly length: number } | { readonly suffix: number };
      readonly onlyIf?: R2Condition;
    },
  ): Promise<R2ObjectContent | R2ObjectState | null>;
  /** Returns null, and changes nothing, if the condition does not hold. */
  put(
    key: string,
    bytes: Uint8Array,
    options?: { readonly onlyIf?: R2Condition; readonly customMetadata?: Record<string, string> },
  ): Promise<R2ObjectState | null>;
  delete(keys: string | string[]): Promise<void>;
  list(options: {
    readonly prefix?: string;
    readonly delimiter?: string;
    readonly cursor?: string;
    readonly limit?: number;
  }): Promise<R2Page>;
  createMultipartUpload(key: string): Promise<R2Upload>;
}

/** Attempts of a call before its failure counts. */
const MAX_ATTEMPTS = 5;
/** Codes at the end of messages of failures that pass: internal, unavailable, interrupted, too many calls. */
const PASSING: ReadonlySet<string> = new Set(["10001", "10043", "10054", "10058"]);

/** Returns the code of R2 at the end of a message, such as `(10001)`; "" without one. */
const codeOfFailure = (error: unknown): string =>
  /\((\d{5})\)\s*$/.exec(String((error as Partial<Error> | null)?.message))?.[1] ?? "";

/** True if another attempt may succeed. Failures of the connection have no code. */
export const isPassingFailure = (error: unknown): boolean => {
  const code = codeOfFailure(error);
  return code === "" || PASSING.has(code);
};

/**
 * Calls the bucket again after failures that pass.
 * @param call gets the number of earlier attempts
 */
export async function persistently<T>(
  call: (earlierAttempts: number) => Promise<T>,
  sleep: (ms: number) => Promise<void>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call(attempt);
    } catch (error) {
      if (attempt + 1 >= MAX_ATTEMPTS || !isPassingFailure(error)) throw error;
      await sleep(2 ** attempt * 25 * (1 + Math.random()));
    }
  }
}
