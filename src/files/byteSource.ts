/** Opens what the readers of files take: a path, bytes, or a stream of bytes. */

import { untilAborted } from "../async/abort.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { isWebBlob, tagOf } from "../bytes/anyRealm.js";
import { InvalidInputError, messageOf, NamespaceError } from "../errors.js";
import { openLocalFile } from "../io/localFiles.js";
import { pathOfFileUrl } from "../io/names/fileUrls.js";
import { isObject, shortly } from "../optionMembers.js";
import { fileError } from "./fileErrors.js";

/**
 * A file to read: its path or `file:` URL, its bytes, a Blob, or a stream of its bytes. A ReadableStream
 * and a Readable of Node.js are streams, and so is any iterable of bytes.
 */
export type FileSource =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Iterable<Uint8Array>;

/** Bytes that are processed between two turns of the event loop. */
const PIECE_BYTES = 65_536;
/** Bytes of a file that are read at once. */
const READ_BYTES = 4 * PIECE_BYTES;

/** Returns the path that a source names; null for bytes and streams. */
export function filePathOf(source: unknown, name: string): string | null {
  if (typeof source === "string") return requirePath(source, name);
  if (tagOf(source) !== "URL") return null;
  const url = source as URL;
  if (url.protocol !== "file:") {
    throw new InvalidInputError(
      `${name}: ${url.protocol} URLs are not read; pass the body of a fetch() instead`,
    );
  }
  return pathOfFileUrl(url.href);
}

function requirePath(path: string, name: string): string {
  if (path === "" || path.includes("\0")) throw new InvalidInputError(`${name}: ${shortly(path)} is no path`);
  return path;
}

/** Returns the bytes that a source is in memory; null for paths and streams. */
export function bytesInMemory(source: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return tagOf(source) === "ArrayBuffer" ? new Uint8Array(source as ArrayBuffer) : null;
}

/**
 * Yields the bytes of a source in pieces of at most {@link PIECE_BYTES}, and lets the event loop turn between
 * them. The end of the iteration closes a file and cancels a stream.
 * @param name name of the reader, for messages
 * @throws InvalidInputError for anything but a file; the signal's reason
 */
export async function* filePieces(
  source: unknown,
  name: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const bytes of blocksOf(source, name, signal)) {
    for (let start = 0; start < bytes.byteLength; start += PIECE_BYTES) {
      await yieldToEventLoop();
      signal?.throwIfAborted();
      yield bytes.subarray(start, start + PIECE_BYTES);
    }
  }
}

async function* blocksOf(
  source: unknown,
  name: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  const path = filePathOf(source, name);
  if (path !== null) return yield* blocksOfFile(path, name);
  const bytes = bytesInMemory(source);
  if (bytes !== null) return yield bytes;
  yield* blocksOfStream(source, name, signal);
}

async function* blocksOfFile(path: string, name: string): AsyncGenerator<Uint8Array> {
  try {
    const file = await openLocalFile(path);
    try {
      for (;;) {
        const bytes = await file.read(null, READ_BYTES);
        if (bytes.byteLength === 0) return;
        yield bytes;
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw fileError(error, path, name);
  }
}

async function* blocksOfStream(
  source: unknown,
  name: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const iterator = iteratorOf(source, name);
  let isAtEnd = false;
  try {
    for (;;) {
      const { done, value } = await nextOf(iterator, name, signal);
      isAtEnd = done === true;
      if (isAtEnd) return;
      const bytes = bytesInMemory(value);
      if (bytes === null) {
        throw new InvalidInputError(`${name}: the stream gave ${shortly(value)} where bytes are wanted`);
      }
      yield bytes;
    }
  } finally {
    // A source that waits for its next value cannot return before that value arrives.
    if (!isAtEnd) await untilAborted(iterator.return?.(), signal).catch(() => undefined);
  }
}

type AnyIterator = AsyncIterator<unknown> | Iterator<unknown>;

async function nextOf(iterator: AnyIterator, name: string, signal: AbortSignal | undefined) {
  try {
    return await untilAborted(iterator.next(), signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof NamespaceError) throw error;
    throw new InvalidInputError(`${name}: the stream failed: ${messageOf(error)}`, { cause: error });
  }
}

function iteratorOf(source: unknown, name: string): AnyIterator {
  if (isObject(source) || Array.isArray(source)) {
    if (isWebBlob(source) && typeof source.stream === "function") return iteratorOf(source.stream(), name);
    const { locked } = source as { readonly locked?: unknown };
    if (locked === true) throw new InvalidInputError(`${name}: another reader has locked the stream`);
    const open =
      (source as AsyncIterable<unknown>)[Symbol.asyncIterator] ??
      (source as Iterable<unknown>)[Symbol.iterator];
    if (typeof open === "function") return open.call(source);
  }
  throw new InvalidInputError(
    `${name}: the source must be a path, bytes or a stream of bytes, not ${shortly(source)}`,
  );
}
