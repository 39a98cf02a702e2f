/** Counts the events of some rows of a full-zip page: its description counts only those of all rows. */

import type { FullZipLayout } from "../../format/encodings.js";
import { corruptPage, type PageOrigin } from "../container/page.js";
import { describeLayers } from "../events/levels.js";

/** Numbers of events, and of those that have a value. */
export type EventCounts = Pick<FullZipLayout, "itemCount" | "visibleItemCount">;

/**
 * Counts the events that fill `bytes`.
 * @throws CorruptFileError if they do not end with the bytes
 */
export function countZippedEvents(bytes: Uint8Array, page: FullZipLayout, origin: PageOrigin): EventCounts {
  const { maximumVisible } = describeLayers(page.layers, origin);
  const bits = page.repBits + page.defBits;
  const controlBytes = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
  const lengthBytes = (page.bitsPerOffset ?? 0) / 8;
  const valueBytes = (page.bitsPerValue ?? 0) / 8;
  const mask = 2 ** page.defBits - 1;
  let itemCount = 0;
  let visibleItemCount = 0;
  let read = 0;
  while (read + controlBytes <= bytes.length) {
    let word = bytes[read];
    if (controlBytes > 1) word |= bytes[read + 1] << 8;
    if (controlBytes > 2) word = (word | (bytes[read + 2] << 16) | (bytes[read + 3] << 24)) >>> 0;
    read += controlBytes;
    itemCount++;
    const level = word & mask;
    if (level > maximumVisible) continue;
    visibleItemCount++;
    if (page.bitsPerOffset === undefined) {
      read += valueBytes;
    } else if (level === 0) {
      if (read + lengthBytes > bytes.length) break;
      let length = 0;
      for (let byte = lengthBytes - 1; byte >= 0; byte--) length = length * 256 + bytes[read + byte];
      read += lengthBytes + length;
    }
  }
  if (read !== bytes.length) throw corruptPage(origin, "events of rows do not end where the rows end");
  return { itemCount, visibleItemCount };
}
