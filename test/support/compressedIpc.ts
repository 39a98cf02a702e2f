import { createRequire } from "node:module";
import { CompressionType, compressionRegistry, RecordBatchStreamWriter, type Table } from "apache-arrow";
import { ensureCodecs } from "../../src/arrow/exchange/inflation.js";

type Encode = (bytes: Uint8Array) => Uint8Array;

const lz4js = createRequire(import.meta.url)("lz4js") as { compress: Encode };

export const ENCODERS: readonly (readonly [CompressionType, Encode])[] = [
  [CompressionType.LZ4_FRAME, (bytes) => lz4js.compress(bytes)],
  [CompressionType.ZSTD, encodeZstd],
];

/** Writes a stream by apache-arrow, and corrects its uncompressed lengths. */
export function writeCompressed(table: Table, type: CompressionType, encode: Encode) {
  const encoded: { original: number; bytes: Uint8Array }[] = [];
  compressionRegistry.set(type, {
    encode: (bytes) => {
      const compressed = encode(bytes);
      encoded.push({ original: bytes.length, bytes: compressed });
      return compressed;
    },
  });
  const stream = new RecordBatchStreamWriter({ compressionType: type });
  const asWritten = Buffer.from(stream.writeAll(table).toUint8Array(true));
  const corrected = Buffer.from(asWritten);
  for (const { original, bytes } of encoded) {
    for (
      let index = corrected.indexOf(bytes);
      index >= 8;
      index = corrected.indexOf(bytes, index + bytes.length)
    ) {
      if (corrected.readBigInt64LE(index - 8) === BigInt(bytes.length)) {
        corrected.writeBigInt64LE(BigInt(original), index - 8);
      }
    }
  }
  ensureCodecs();
  return { asWritten, corrected };
}

/** A ZSTD frame of one repeating block, or of raw blocks. */
export function encodeZstd(bytes: Uint8Array): Uint8Array {
  const repeats = bytes.length <= 131072 && bytes.every((byte) => byte === bytes[0]);
  const header = Buffer.alloc(12);
  header.set([0x28, 0xb5, 0x2f, 0xfd, 0xa0]);
  header.writeUInt32LE(bytes.length, 5);
  header.writeUIntLE((bytes.length << 3) | (repeats ? 2 : 0) | 1, 9, 3);
  return Buffer.concat([header, repeats ? bytes.subarray(0, 1) : bytes]);
}
