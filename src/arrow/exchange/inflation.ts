/**
 * Compressed bodies of Arrow IPC messages. apache-arrow decodes a body in one go and calls a codec for each
 * buffer. Where the caller can wait, buffers are inflated before that, with breaks, and the codec only hands
 * them over.
 *
 *     buffer   i64 bytes that it becomes, -1 where it is not compressed; a frame of LZ4 or ZSTD
 */

import { CompressionType, compressionRegistry } from "apache-arrow";
import { runSync } from "../../async/eventLoop.js";
import { decodingLz4Frame, lz4FrameLength } from "../../bytes/lz4Frame.js";
import { decodingZstdFrame } from "../../bytes/zstd/decodeFrame.js";
import { zstdFrameBound } from "../../bytes/zstd/frame.js";
import { malformedIpc } from "./malformedIpc.js";

/** Maximum bytes of one buffer, inflated. */
const MAX_BUFFER_BYTES = 2 ** 31 - 1;
export const LENGTH_PREFIX_BYTES = 8;

/** A body of compressed buffers, and where they lie in it. */
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

/** Lets apache-arrow read LZ4 and ZSTD bodies. Codecs that are already registered stay in place. */
export function ensureCodecs(): void {
  for (const [type, inflating] of DECODERS) {
    const codec = compressionRegistry.get(type);
    if (codec?.decode !== undefined) continue;
    const decode = (frame: Uint8Array) => taken(frame) ?? runSync(inflating(frame, inflationLeft));
    const counted = (frame: Uint8Array) => {
      const content = decode(frame);
      if (content.length > inflationLeft) throw malformedIpc("buffers that become more than they declare");
      inflationLeft -= content.length;
      return content;
    };
    registered.set(type, counted);
    compressionRegistry.set(type, { ...codec, decode: counted });
  }
}

/**
 * Bytes that the batch being decoded may still inflate to. A module variable, because apache-arrow calls the
 * codecs and passes nothing through. Decoding never waits, so batches of several inputs don't meet here.
 */
let inflationLeft = Number.POSITIVE_INFINITY;

/** Runs `decode`, which may inflate buffers to at most `maxBytes` in total. */
export function withInflation<Result>(maxBytes: number, decode: () => Result): Result {
  inflationLeft = maxBytes;
  return decode();
}

/**
 * Buffers that were inflated ahead, by the memory that holds the compressed bytes and the position where they
 * begin.
 */
const inflated = new WeakMap<ArrayBufferLike, Map<number, Uint8Array>>();

/** Returns a buffer that was inflated ahead, and forgets it. */
function taken(frame: Uint8Array): Uint8Array | undefined {
  const contents = inflated.get(frame.buffer);
  const content = contents?.get(frame.byteOffset);
  contents?.delete(frame.byteOffset);
  return content;
}

/**
 * Inflates the buffers of the body to be decoded next, with breaks.
 * @param maxBytes limit of all buffers together, inflated
 */
export function* inflateAhead(compressed: CompressedBody, maxBytes: number): Generator<void, void> {
  const inflating = DECODERS.get(compressed.type);
  // A codec that somebody else registered inflates by itself.
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

/**
 * Returns a buffer of a body; inflates it where it is compressed. To be called as apache-arrow calls codecs:
 * while it decodes.
 */
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

/** The frames in a body, without buffers that are not compressed. */
function* framesOf({ body, buffers }: CompressedBody): Generator<Uint8Array, void> {
  for (const { offset, length } of buffers) {
    if (length <= LENGTH_PREFIX_BYTES) continue;
    const frame = body.subarray(offset + LENGTH_PREFIX_BYTES, offset + length);
    if (declaredLength(frame) !== null) yield frame;
  }
}

/**
 * Computes the inflated bytes of a body's buffers, with breaks; at most `maxBytes`, because a body that
 * exceeds them is refused when it is inflated.
 */
export function* inflatedBytes(compressed: CompressedBody, maxBytes: number): Generator<void, number> {
  let sum = 0;
  for (const frame of framesOf(compressed)) {
    const declared = declaredLength(frame) ?? 0;
    sum += declared === frame.length ? yield* contentBytes(frame, compressed.type, maxBytes) : declared;
    if (sum > maxBytes) return maxBytes;
  }
  return sum;
}

/** Inflated bytes of a frame whose declared length may be that of the frame itself. */
function* contentBytes(frame: Uint8Array, type: CompressionType, maxBytes: number): Generator<void, number> {
  if (type === CompressionType.LZ4_FRAME) return (yield* lz4FrameLength(frame, maxBytes)) ?? maxBytes;
  const bound = zstdFrameBound(frame);
  return bound === null ? maxBytes : (bound.contentSize ?? bound.maximumSize);
}

function* inflatingLz4(frame: Uint8Array, maxBytes: number): Generator<void, Uint8Array> {
  const content = yield* decodingLz4Frame(frame, Math.min(MAX_BUFFER_BYTES, maxBytes));
  if (content === null) throw malformedIpc("a buffer that is no LZ4 frame, or too long a one");
  checkDeclaredLength(frame, content.length);
  return content;
}

function* inflatingZstd(frame: Uint8Array, maxBytes: number): Generator<void, Uint8Array> {
  const bound = zstdFrameBound(frame);
  if (bound === null) throw malformedIpc("a buffer that is no ZSTD frame");
  const length = bound.contentSize ?? declaredLength(frame);
  if (length === null || length > bound.maximumSize || length > Math.min(MAX_BUFFER_BYTES, maxBytes)) {
    throw malformedIpc("a ZSTD frame of impossible length");
  }
  checkDeclaredLength(frame, length);
  const content = new Uint8Array(length);
  if (!(yield* decodingZstdFrame(frame, content))) {
    throw malformedIpc("a ZSTD frame that cannot be decompressed");
  }
  return content;
}

/**
 * The uncompressed length, which lies in front of a compressed buffer; null for a buffer that is not
 * compressed. apache-arrow passes a view of the bytes after the length.
 */
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
