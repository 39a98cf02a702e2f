/**
 * Inflates compressed bodies of Arrow IPC messages. apache-arrow decodes a body without a break and calls a
 * codec for each buffer. A caller that can wait inflates the buffers before decoding, in steps; the codec
 * then only returns them.
 *
 *     buffer   i64 inflated length, -1 if the buffer is not compressed; a frame of LZ4 or ZSTD
 */

import { CompressionType, compressionRegistry } from "apache-arrow";
import { runSync } from "../../async/eventLoop.js";
import { decodingLz4Frame, lz4FrameLength } from "../../bytes/lz4Frame.js";
import { decodingZstdFrame } from "../../bytes/zstd/decodeFrame.js";
import { zstdFrameBound } from "../../bytes/zstd/frame.js";
import { malformedIpc } from "./malformedIpc.js";

/** Maximum bytes of one inflated buffer. */
const MAX_BUFFER_BYTES = 2 ** 31 - 1;
export const LENGTH_PREFIX_BYTES = 8;

/** A body of compressed buffers, and the ranges of the buffers in it. */
export interface CompressedBody {
  readonly body: Uint8Array;
  readonly type: CompressionType;
  readonly buffers: readonly { readonly offset: number; readonly length: number }[];
}

type Inflating = (frame: Uint8Array, maxBytes: number) => Generator<void, Uint8Array>;

const DECODERS = new Map<CompressionType, Inflating>([
  [CompressionType.LZ4_FRAME, inflatingLz4],
  [CompressionType.ZSTD, inflatingZstd],
]);

/** The codecs that this module registered. */
const registered = new Map<CompressionType, (frame: Uint8Array) => Uint8Array>();

/** Lets apache-arrow read LZ4 and ZSTD bodies. Codecs that are already registered stay registered. */
export function ensureCodecs(): void {
  for (const [type, inflating] of DECODERS) {
    const codec = compressionRegistry.get(type);
    if (codec?.decode !== undefined) continue;
    const decode = (frame: Uint8Array) => taken(frame) ?? runSync(inflating(frame, inflationLeft));
    const counted = (frame: Uint8Array) => {
      const content = decode(frame);
      if (content.length > inflationLeft)
        throw malformedIpc("buffers that inflate to more bytes than they declare");
      inflationLeft -= content.length;
      return content;
    };
    registered.set(type, counted);
    compressionRegistry.set(type, { ...codec, decode: counted });
  }
}

/**
 * Bytes that the current batch may still inflate to. A module variable, because apache-arrow passes nothing
 * to a codec but the frame. Decoding never waits, so two inputs cannot use it at once.
 */
let inflationLeft = Number.POSITIVE_INFINITY;

/** Runs `decode`, which may inflate buffers to at most `maxBytes` in total. */
export function withInflation<Result>(maxBytes: number, decode: () => Result): Result {
  inflationLeft = maxBytes;
  return decode();
}

/** Buffers inflated before decoding, by the memory of the compressed bytes and their offset in it. */
const inflated = new WeakMap<ArrayBufferLike, Map<number, Uint8Array>>();

/** Returns a buffer that was inflated before decoding, and removes it from the cache. */
function taken(frame: Uint8Array): Uint8Array | undefined {
  const contents = inflated.get(frame.buffer);
  const content = contents?.get(frame.byteOffset);
  contents?.delete(frame.byteOffset);
  return content;
}

/** Inflates the buffers of the next body to at most `maxBytes` in all, in steps. */
export function* inflateAhead(compressed: CompressedBody, maxBytes: number): Generator<void, void> {
  const inflating = DECODERS.get(compressed.type);
  // A codec that another program registered inflates by itself.
  if (
    inflating === undefined ||
    compressionRegistry.get(compressed.type)?.decode !== registered.get(compressed.type)
  )
    return;
  let contents = inflated.get(compressed.body.buffer);
  if (contents === undefined) inflated.set(compressed.body.buffer, (contents = new Map()));
  let left = maxBytes;
  for (const frame of framesOf(compressed)) {
    // Two buffers may be the same bytes.
    if (contents.has(frame.byteOffset)) continue;
    const content = yield* inflating(frame, left);
    left -= content.length;
    contents.set(frame.byteOffset, content);
    yield;
  }
}

/** Returns a buffer of a body, inflated if it is compressed. Callers are inside a decode call. */
export function bufferContent(
  { body, compressed }: { readonly body: Uint8Array; readonly compressed: CompressedBody | null },
  { offset, length }: CompressedBody["buffers"][number],
): Uint8Array {
  const bytes = body.subarray(offset, offset + length);
  if (compressed === null || length === 0) return bytes;
  const frame = bytes.subarray(LENGTH_PREFIX_BYTES);
  if (declaredLength(frame) === null) return frame;
  const decode = compressionRegistry.get(compressed.type)?.decode;
  if (decode === undefined) throw malformedIpc("buffers of an unknown compression");
  return decode(frame);
}

/** Yields the compressed buffers of a body. */
function* framesOf({ body, buffers }: CompressedBody): Generator<Uint8Array, void> {
  for (const { offset, length } of buffers) {
    if (length <= LENGTH_PREFIX_BYTES) continue;
    const frame = body.subarray(offset + LENGTH_PREFIX_BYTES, offset + length);
    if (declaredLength(frame) !== null) yield frame;
  }
}

/** Computes the inflated bytes of a body, in steps, up to `maxBytes`: a larger body fails anyway. */
export function* inflatedBytes(compressed: CompressedBody, maxBytes: number): Generator<void, number> {
  let sum = 0;
  for (const frame of framesOf(compressed)) {
    const declared = declaredLength(frame) ?? 0;
    sum += declared === frame.length ? yield* contentBytes(frame, compressed.type, maxBytes) : declared;
    if (sum > maxBytes) return maxBytes;
  }
  return sum;
}

/** Inflated bytes of a frame. The declared length may be that of the frame itself. */
function* contentBytes(frame: Uint8Array, type: CompressionType, maxBytes: number): Generator<void, number> {
  if (type === CompressionType.LZ4_FRAME) return (yield* lz4FrameLength(frame, maxBytes)) ?? maxBytes;
  const bound = zstdFrameBound(frame);
  return bound === null ? maxBytes : (bound.contentSize ?? bound.maximumSize);
}

function* inflatingLz4(frame: Uint8Array, maxBytes: number): Generator<void, Uint8Array> {
  const content = yield* decodingLz4Frame(frame, Math.min(MAX_BUFFER_BYTES, maxBytes));
  if (content === null) throw malformedIpc("a buffer that is not an LZ4 frame, or is too long");
  checkDeclaredLength(frame, content.length);
  return content;
}

function* inflatingZstd(frame: Uint8Array, maxBytes: number): Generator<void, Uint8Array> {
  const bound = zstdFrameBound(frame);
  if (bound === null) throw malformedIpc("a buffer that is not a ZSTD frame");
  const length = bound.contentSize ?? declaredLength(frame);
  if (length === null || length > bound.maximumSize || length > Math.min(MAX_BUFFER_BYTES, maxBytes)) {
    throw malformedIpc("a ZSTD frame with an impossible length");
  }
  checkDeclaredLength(frame, length);
  const content = new Uint8Array(length);
  if (!(yield* decodingZstdFrame(frame, content))) {
    throw malformedIpc("a ZSTD frame that cannot be decompressed");
  }
  return content;
}

/** Inflated length, which lies before the view that apache-arrow passes; null if it is not compressed. */
function declaredLength(frame: Uint8Array): number | null {
  if (frame.byteOffset < LENGTH_PREFIX_BYTES) return null;
  const prefix = new DataView(frame.buffer, frame.byteOffset - LENGTH_PREFIX_BYTES, LENGTH_PREFIX_BYTES);
  const length = Number(prefix.getBigInt64(0, true));
  return length < 0 ? null : length;
}

function checkDeclaredLength(frame: Uint8Array, length: number): void {
  const declared = declaredLength(frame);
  // apache-arrow 21 writes the compressed length in place of the uncompressed one.
  if (declared === null || declared === length || declared === frame.length) return;
  throw malformedIpc(`a buffer that holds ${length} bytes and declares ${declared}`);
}
