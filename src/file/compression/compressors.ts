/** Compressors of whole buffers (general.ts). */

import { lazyModule } from "../../async/lazy.js";
import { encodeLz4Block, encodeSmallLz4Block } from "../../bytes/lz4Encoder.js";
import {
  type BufferCompression,
  CompressionScheme,
  type CompressiveEncoding,
} from "../../format/encodings.js";
import { compressZstd } from "../../platform/native.js";
import { LZ4 } from "./general.js";

/** Encoder for runtimes without a native one. A writer loads it before it encodes a page that may need it. */
export const zstdEncoder = lazyModule(() => import("../../bytes/zstd/encodeFrame.js"));

/** Compresses buffers, and describes the compression for a page. */
export interface Compressor {
  /** Name of the scheme in version 2.0. */
  readonly scheme: "lz4" | "zstd";
  compress(bytes: Uint8Array): Uint8Array;
  describe(values: CompressiveEncoding): CompressiveEncoding;
}

/** Makes a compressor that writes the size in `sizeBytes` before the compressed bytes. */
function compressorBy(
  scheme: "lz4" | "zstd",
  encode: (bytes: Uint8Array) => Uint8Array,
  sizeBytes: 4 | 8,
  compression: BufferCompression,
): Compressor {
  return {
    scheme,
    compress(bytes) {
      const encoded = encode(bytes);
      const output = new Uint8Array(sizeBytes + encoded.length);
      new DataView(output.buffer).setUint32(0, bytes.length, true);
      output.set(encoded, sizeBytes);
      return output;
    },
    describe: (values) => ({ general: { compression, values } }),
  };
}

/** LZ4 for the buffers of a page. */
const lz4Compressor = compressorBy("lz4", encodeLz4Block, 4, LZ4);

/** LZ4 for buffers that are written once per page and read with every part: smaller, slower to write. */
export const smallLz4Compressor = compressorBy("lz4", encodeSmallLz4Block, 4, LZ4);

const LEAST_ZSTD_LEVEL = 1;

const LARGEST_ZSTD_LEVEL = 22;

/** Compressor of a column's choice. Only runtimes with a native encoder for ZSTD heed the level. */
export function compressor(scheme: "lz4" | "zstd", level: number | null): Compressor {
  if (scheme === "lz4") return lz4Compressor;
  const used = level === null ? null : Math.min(Math.max(level, LEAST_ZSTD_LEVEL), LARGEST_ZSTD_LEVEL);
  const encode = (bytes: Uint8Array) =>
    compressZstd?.(bytes, used) ?? zstdEncoder.made.encodeZstdFrame(bytes);
  return compressorBy("zstd", encode, 8, { scheme: CompressionScheme.ZSTD, level: used ?? undefined });
}
