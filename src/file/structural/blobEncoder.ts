/** Encodes pages of the blob layout (blob.ts). */

import type { CompressiveEncoding } from "../../format/encodings.js";
import { DESCRIPTOR_BYTES } from "../blobs/descriptorLayouts.js";
import type { EncodedPage } from "../container/page.js";
import { leafLevels, type PageLevels } from "../events/levels.js";
import { flat } from "./fixedValues.js";
import { MiniBlockEncoder } from "./miniBlockEncoder.js";

/** Descriptors in a chunk: 16 KiB of them. */
const CHUNK_DESCRIPTORS = 1024;

const DESCRIPTOR_PAIR: CompressiveEncoding = {
  packedStruct: { bitsPerValue: [64, 64], values: flat(DESCRIPTOR_BYTES * 8) },
};

/** @param descriptors one per event; the header of this file describes those of events without a value */
export function encodeBlobPage(descriptors: Uint8Array, levels: PageLevels): EncodedPage {
  const count = descriptors.length / DESCRIPTOR_BYTES;
  const encoder = new MiniBlockEncoder("2.1", leafLevels(null, count), descriptors.length + 4096);
  for (let start = 0; start < count; ) {
    const end = Math.min(start + CHUNK_DESCRIPTORS, count);
    const bytes = descriptors.subarray(start * DESCRIPTOR_BYTES, end * DESCRIPTOR_BYTES);
    encoder.addChunk(end - start, [bytes]);
    start = end;
  }
  const { encoding, buffers, rowCount } = encoder.finish({ encoding: DESCRIPTOR_PAIR, bufferCount: 1 });
  return { encoding: { blob: { innerLayout: encoding, layers: [...levels.layers] } }, buffers, rowCount };
}

/** Position in the descriptor of an event without a value, from the event's definition level. */
export const markOfLevel = (level: number): number => level * 2 ** 16;
