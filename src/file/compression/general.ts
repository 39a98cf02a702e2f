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

/** Undoes the compression of whole buffers. */
export interface Decompressor {
  /**
   * Returns the length of a buffer's content in bytes.
   * @throws CorruptFileError if the buffer cannot hold as much as it states
   */
  contentBytes(bytes: Uint8Array): number;
  /**
   * Writes the content of a buffer.
   * @param output as long as {@link contentBytes} says
   * @throws CorruptFileError
   */
  decode(bytes: Uint8Array, output: Uint8Array): void;
}

/** Returns the decompressor of a compression. @throws UnsupportedError for an unknown scheme */
export function decompressorOf(compression: BufferCompression | undefined, origin: PageOrigin): Decompressor {
  switch (compression?.scheme) {
    case CompressionScheme.LZ4:
      return {
        contentBytes: (bytes) => lz4ContentBytes(bytes, origin),
        decode(bytes, output) {
          if (output.length > 0 && !decodeLz4Block(bytes.subarray(4), output))
            throw corruptPage(origin, "malformed LZ4 block");
        },
      };
    case CompressionScheme.ZSTD:
      return {
        contentBytes: (bytes) => zstdContentBytes(bytes, origin),
        decode(bytes, output) {
          if (!zstd.made.decodeZstdFrame(zstdFrameOf(bytes), output))
            throw corruptPage(origin, "malformed ZSTD frame");
        },
      };
    default:
      throw unsupportedPage(origin, `compression scheme ${compression?.scheme ?? "none"}`);
  }
}

/** Returns the content of a buffer in memory of its own. @throws CorruptFileError */
export function decompress(decompressor: Decompressor, bytes: Uint8Array): Uint8Array {
  const output = new Uint8Array(decompressor.contentBytes(bytes));
  decompressor.decode(bytes, output);
  return output;
}

function lz4ContentBytes(bytes: Uint8Array, origin: PageOrigin): number {
  if (bytes.length < 4) throw corruptPage(origin, "LZ4 buffer shorter than its size field");
  const size = readUint32(bytes, 0);
  // A byte of an LZ4 block stands for at most 255 bytes of output.
  if (size > (bytes.length - 4) * 255) throw corruptPage(origin, `LZ4 buffer cannot hold ${size} bytes`);
  return size;
}

const zstdFrameOf = (bytes: Uint8Array): Uint8Array => (isZstdFrame(bytes) ? bytes : bytes.subarray(8));

function zstdContentBytes(bytes: Uint8Array, origin: PageOrigin): number {
  const isBare = isZstdFrame(bytes);
  if (!isBare && bytes.length < 8) throw corruptPage(origin, "ZSTD buffer shorter than its size field");
  const bound = zstdFrameBound(zstdFrameOf(bytes));
  if (bound === null) throw corruptPage(origin, "malformed ZSTD frame");
  const size = isBare ? bound.contentSize : readUint32(bytes, 0) + readUint32(bytes, 4) * 2 ** 32;
  if (size === null) throw unsupportedPage(origin, "a ZSTD frame without content size");
  if (size > bound.maximumSize || (bound.contentSize !== null && bound.contentSize !== size)) {
    throw corruptPage(origin, `ZSTD frame cannot hold ${size} bytes`);
  }
  return size;
}

/**
 * True if the bytes begin with the magic number, and the reserved bit of the next byte is clear. No size
 * prefix begins like this.
 */
const isZstdFrame = (bytes: Uint8Array): boolean =>
  bytes.length > 4 && readUint32(bytes, 0) === 0xfd2fb528 && (bytes[4] & 0x10) === 0;

export const LZ4 = { scheme: CompressionScheme.LZ4, level: undefined };
