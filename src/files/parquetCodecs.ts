/** Decompresses pages of Parquet. Each page states its length, which bounds the memory. */

import { type Compressors, snappyUncompress } from "hyparquet";
import { decodeLz4Block } from "../bytes/lz4.js";
import { decodeZstdFrame } from "../bytes/zstd/decodeFrame.js";
import { InvalidInputError } from "../errors.js";
import { inflate } from "../platform/native.js";

/** Maximum bytes of a page. */
const MAX_PAGE_BYTES = 2 ** 29;

type Codec = "SNAPPY" | "GZIP" | "BROTLI" | "ZSTD" | "LZ4_RAW";
type Decompress = (bytes: Uint8Array, byteLength: number) => Uint8Array | null;

const intoOutput =
  (decode: (bytes: Uint8Array, output: Uint8Array) => boolean): Decompress =>
  (bytes, byteLength) => {
    const output = new Uint8Array(byteLength);
    return decode(bytes, output) ? output : null;
  };

const CODECS: Readonly<Record<Codec, Decompress>> = {
  SNAPPY: intoOutput((bytes, output) => {
    snappyUncompress(bytes, output);
    return true;
  }),
  GZIP: (bytes, byteLength) => inflate?.("gzip", bytes, byteLength) ?? null,
  BROTLI: (bytes, byteLength) => inflate?.("brotli", bytes, byteLength) ?? null,
  ZSTD: intoOutput(decodeZstdFrame),
  LZ4_RAW: intoOutput(decodeLz4Block),
};

/** Decompressors for hyparquet. They throw for bytes that are damaged. */
export const compressors: Compressors = Object.fromEntries(
  Object.entries(CODECS).map(([codec, decompress]) => [
    codec,
    (bytes: Uint8Array, byteLength: number): Uint8Array => {
      if (!(byteLength >= 0 && byteLength <= MAX_PAGE_BYTES)) {
        throw new InvalidInputError(`a page states a length of ${byteLength} bytes`);
      }
      const page = byteLength === 0 ? new Uint8Array(0) : decompress(bytes, byteLength);
      if (page?.byteLength !== byteLength) throw new InvalidInputError(`a page is not ${codec}, or damaged`);
      return page;
    },
  ]),
);
