/** Byte-stream split: in a chunk of n values of B bytes (B = 4, 8), byte j of value i stands at j·n + i. */

import type { ByteStreamSplit, CompressiveEncoding } from "../../format/encodings.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import type { FixedDecoder } from "./fixedDecoder.js";

export function byteStreamSplitDecoder(encoding: ByteStreamSplit, origin: PageOrigin): FixedDecoder {
  const flat = encoding.values?.flat;
  if (flat === undefined || flat.data !== undefined) {
    throw unsupportedPage(origin, "byte-stream split over compressed values");
  }
  if (flat.bitsPerValue !== 32 && flat.bitsPerValue !== 64) {
    throw corruptPage(origin, `byte-stream split of ${flat.bitsPerValue}-bit values`);
  }
  const byteWidth = flat.bitsPerValue / 8;
  return {
    bitsPerValue: flat.bitsPerValue,
    bufferCount: 1,
    decode(buffers, first, count, output, outputIndex) {
      const input = buffers[first];
      if (input.length !== count * byteWidth) {
        throw corruptPage(
          origin,
          `${input.length} bytes of split values where ${count * byteWidth} are expected`,
        );
      }
      for (let stream = 0; stream < byteWidth; stream++) {
        let read = stream * count;
        let write = outputIndex * byteWidth + stream;
        for (const end = read + count; read < end; read++, write += byteWidth) output[write] = input[read];
      }
    },
  };
}

export const describeByteStreamSplit = (bitsPerValue: 32 | 64): CompressiveEncoding => ({
  byteStreamSplit: { values: { flat: { bitsPerValue, data: undefined } } },
});

/** Regroups the bytes of values of `byteWidth` bytes by their position in the value. */
export function splitByteStreams(byteWidth: number, values: Uint8Array): Uint8Array {
  const output = new Uint8Array(values.length);
  const count = values.length / byteWidth;
  for (let stream = 0; stream < byteWidth; stream++) {
    let write = stream * count;
    for (let read = stream; read < values.length; read += byteWidth) output[write++] = values[read];
  }
  return output;
}
