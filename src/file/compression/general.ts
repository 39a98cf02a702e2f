/**
 * General compression of a whole buffer, before any other decoding.
 *
 *     LZ4    u32 uncompressed size, then one raw LZ4 block
 *     ZSTD   u64 uncompressed size, then a zstd frame; a bare frame (no size before it) is read too
 *
 * A declared size is checked against the maximum that the compressed bytes can become, before memory is
 * allocated for it.
 */

import { lazyModule } from "../../async/lazy.js";
import { readUint32 } from "../../bytes/littleEndian.js";
import { decodeLz4Block } from "../../bytes/lz4.js";
import { zstdFrameBound } from "../../bytes/zstd/frame.js";
import { type BufferCompression, CompressionScheme } from "../../format/encodings.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";

/** The reader of pages loads this module before it decodes a page that needs it. */
export const zstd = lazyModule(() => import("../../bytes/zstd/decodeFrame.js"));

export type Decompress = (bytes: Uint8Array) => Uint8Array;

/** Returns the function that undoes `compression`; its result is newly allocated. */
export function decompressor(compression: BufferCompression | undefined, origin: PageOrigin): Decompress {
  switch (compression?.scheme) {
    case CompressionScheme.LZ4:
      return (bytes) => decompressLz4(bytes, origin);
    case CompressionScheme.ZSTD:
      return (bytes) => decompressZstd(bytes, origin);
    default:
      throw unsupportedPage(origin, `compression scheme ${compression?.scheme ?? "none"}`);
  }
}

function decompressLz4(bytes: Uint8Array, origin: PageOrigin): Uint8Array {
  if (bytes.length < 4) throw corruptPage(origin, "LZ4 buffer shorter than its size field");
  const size = readUint32(bytes, 0);
  // A byte of an LZ4 block stands for at most 255 bytes of output.
  if (size > (bytes.length - 4) * 255) throw corruptPage(origin, `LZ4 buffer cannot hold ${size} bytes`);
  if (size === 0) return new Uint8Array(0);
  const output = new Uint8Array(size);
  if (!decodeLz4Block(bytes.subarray(4), output)) throw corruptPage(origin, "malformed LZ4 block");
  return output;
}

function decompressZstd(bytes: Uint8Array, origin: PageOrigin): Uint8Array {
  const bare = isZstdFrame(bytes);
  if (!bare && bytes.length < 8) throw corruptPage(origin, "ZSTD buffer shorter than its size field");
  const frame = bare ? bytes : bytes.subarray(8);
  const bound = zstdFrameBound(frame);
  if (bound === null) throw corruptPage(origin, "malformed ZSTD frame");
  const size = bare ? bound.contentSize : readUint32(bytes, 0) + readUint32(bytes, 4) * 2 ** 32;
  if (size === null) throw unsupportedPage(origin, "a ZSTD frame without content size");
  if (size > bound.maximumSize || (bound.contentSize !== null && bound.contentSize !== size)) {
    throw corruptPage(origin, `ZSTD frame cannot hold ${size} bytes`);
  }
  const output = new Uint8Array(size);
  if (!zstd.made.decodeZstdFrame(frame, output)) throw corruptPage(origin, "malformed ZSTD frame");
  return output;
}

/**
 * True if the bytes begin with the magic number, and the reserved bit of the next byte is clear. No size
 * prefix begins like this.
 */
const isZstdFrame = (bytes: Uint8Array): boolean =>
  bytes.length > 4 && readUint32(bytes, 0) === 0xfd2fb528 && (bytes[4] & 0x10) === 0;

export const LZ4 = { scheme: CompressionScheme.LZ4, level: undefined };
