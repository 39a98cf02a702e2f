/**
 * The full-zip layout: large values, each after its levels. Buffer 0 holds the events back to back. If rows
 * differ in size, buffer 1 is an index of their starts, which a reader of the whole page does not need. An
 * event:
 *
 *     control word   (repetition << defBits) | definition, little-endian; 0 bytes without levels, then
 *                    1 byte for up to 8 bits of both, 2 for up to 16, 4 beyond
 *     value          fixed width: bitsPerValue bits, of every visible event, null or not
 *                    (booleans take a byte each)
 *                    variable width: the length (bitsPerOffset bits) and as many bytes, of events with
 *                    definition level 0 only
 *
 * See valueShape.ts for the bytes of a value of fixed width, and packedRows.ts for those of a row of packed
 * structs.
 */

import type { LeafLayout } from "../../arrow/columns/column.js";
import type { FullZipLayout } from "../../format/encodings.js";
import type { AllocateTexts } from "../compression/fsst.js";
import {
  finishEach,
  MAXIMUM_POSITION,
  resolveVariable,
  type VariableEncoding,
} from "../compression/variable.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import type { Layers, Levels, StructuralPage } from "../events/levels.js";
import type { PageEvents } from "./miniBlock.js";
import { decodePackedRows } from "./packedRows.js";
import { valueShape } from "./valueShape.js";

/**
 * Decodes a page. Without lists it has as many events as values; the caller has checked both numbers.
 * @param allocateTexts makes the memory of texts that are decoded from codes
 */
export function decodeFullZip(
  layout: LeafLayout,
  { page, layers, buffers, origin }: StructuralPage<FullZipLayout>,
  allocateTexts?: AllocateTexts,
): PageEvents {
  if (buffers.length < 1) throw corruptPage(origin, "full-zip page without buffers");
  const events = buffers[0];
  const { repBits, defBits } = page;
  if (repBits > 16 || defBits > 16) throw corruptPage(origin, `levels of ${repBits} and ${defBits} bits`);
  const control = controlWord(repBits, defBits);
  const eventCount = page.itemCount;
  // Every event takes at least its control word. Without control words, no event is invisible.
  if (control.byteWidth > 0 && eventCount * control.byteWidth > events.length) {
    throw corruptPage(origin, `${eventCount} events in ${events.length} bytes`);
  }
  if (page.bitsPerOffset !== undefined) {
    if (layout.kind === "packedStruct") {
      const { offsets, bytes, levels } = decodeVariableEvents(page, layers, control, events, origin);
      return { values: decodePackedRows(layout, page.valueCompression, offsets, bytes, origin), levels };
    }
    if (layout.kind !== "variable") {
      throw unsupportedPage(origin, `variable-width values for a column of layout ${layout.kind}`);
    }
    // A column of bytes gets the rows of a packed struct unchanged: they are descriptors of blobs.
    const isPacked = page.valueCompression?.variablePackedStruct !== undefined;
    const encoding = isPacked ? PACKED_ROWS : resolveVariable(page.valueCompression, origin);
    const { offsets, bytes, levels } = decodeVariableEvents(page, layers, control, events, origin);
    return { values: finishEach(layout, encoding, offsets, bytes, origin, allocateTexts), levels };
  }
  return decodeFixedEvents(layout, page, layers, control, events, origin);
}

export interface ControlWord {
  readonly byteWidth: 0 | 1 | 2 | 4;
  readonly repBits: number;
  readonly defBits: number;
}

export function controlWord(repBits: number, defBits: number): ControlWord {
  const bits = repBits + defBits;
  return { byteWidth: bits === 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4, repBits, defBits };
}

const newLevels = ({ repBits, defBits }: ControlWord, count: number): Levels => ({
  repetition: repBits === 0 ? null : new Uint16Array(count),
  definition: defBits === 0 ? null : new Uint16Array(count),
});

// ------------------------------------------------------------------------------------------ fixed width

function decodeFixedEvents(
  layout: LeafLayout,
  page: FullZipLayout,
  layers: Layers,
  control: ControlWord,
  events: Uint8Array,
  origin: PageOrigin,
): PageEvents {
  // Lists of nulls alone take no bytes in files of LanceDB 0.22.3 to 0.26.
  const bits = page.bitsPerValue ?? 0;
  if (bits % 8 !== 0) throw corruptPage(origin, `full-zip values of ${bits} bits`);
  const byteWidth = bits / 8;
  const shape = valueShape(layout, page.valueCompression, origin);
  if (shape.byteWidth !== byteWidth) {
    throw corruptPage(origin, `values of ${byteWidth} bytes where ${shape.byteWidth} are expected`);
  }
  const visibleCount = page.visibleItemCount;
  if (visibleCount * byteWidth + page.itemCount * control.byteWidth !== events.length) {
    throw corruptPage(
      origin,
      `${visibleCount} values of ${byteWidth} bytes and ${page.itemCount} events in ${events.length} bytes`,
    );
  }
  if (control.byteWidth === 0) {
    return { values: shape.column(events, visibleCount), levels: { repetition: null, definition: null } };
  }
  const levels = newLevels(control, page.itemCount);
  const values = new Uint8Array(events.length);
  const { maximumVisible } = layers;
  const unzipped = unzipFixed(events, values, byteWidth, control, maximumVisible, levels, page.itemCount);
  if (unzipped !== visibleCount) {
    throw corruptPage(origin, `${unzipped} visible events where ${visibleCount} are expected`);
  }
  return { values: shape.column(values.subarray(0, unzipped * byteWidth), visibleCount), levels };
}

/** Bytes of events that are unzipped at a time: few enough for a processor's cache. */
const BLOCK_BYTES = 1 << 16;

/**
 * Copies the visible values to the front of `values`, which is as large as `events`. Each block is copied
 * whole, then its values are moved together. Returns the number of values, or -1 if the events do not fill
 * `events` exactly.
 */
function unzipFixed(
  events: Uint8Array,
  values: Uint8Array,
  byteWidth: number,
  control: ControlWord,
  maximumVisible: number,
  { repetition, definition }: Levels,
  eventCount: number,
): number {
  const { byteWidth: controlBytes, defBits } = control;
  const mask = 2 ** defBits - 1;
  const total = events.length;
  const eventsPerBlock = Math.max(1, Math.floor(BLOCK_BYTES / (controlBytes + byteWidth)));
  const largestBlock = eventsPerBlock * (controlBytes + byteWidth);
  let read = 0;
  let written = 0;
  let visible = 0;
  for (let event = 0; event < eventCount; ) {
    const blockEnd = Math.min(event + eventsPerBlock, eventCount);
    values.set(events.subarray(read, Math.min(read + largestBlock, total)), written);
    // Within this block, position `read` of the events is position `read + shift` of the values.
    const shift = written - read;
    for (; event < blockEnd; event++) {
      if (read + controlBytes > total) return -1;
      let word = events[read];
      if (controlBytes > 1) word |= events[read + 1] << 8;
      if (controlBytes > 2) word = (word | (events[read + 2] << 16) | (events[read + 3] << 24)) >>> 0;
      read += controlBytes;
      const level = word & mask;
      if (definition !== null) definition[event] = level;
      if (repetition !== null) repetition[event] = word >>> defBits;
      if (level > maximumVisible) continue;
      if (read + byteWidth > total) return -1;
      values.copyWithin(written, read + shift, read + shift + byteWidth);
      read += byteWidth;
      written += byteWidth;
      visible++;
    }
  }
  return read === total ? visible : -1;
}

// --------------------------------------------------------------------------------------- variable width

/** Rows of a packed struct that stay rows. */
const PACKED_ROWS: VariableEncoding = { offsetBits: 32, decompressor: null, symbols: null };

/** Returns the stored values of visible events, empty for nulls, and the levels. */
function decodeVariableEvents(
  page: FullZipLayout,
  layers: Layers,
  control: ControlWord,
  events: Uint8Array,
  origin: PageOrigin,
): { offsets: Int32Array; bytes: Uint8Array; levels: Levels } {
  const lengthBits = page.bitsPerOffset;
  if (lengthBits !== 32 && lengthBits !== 64) throw corruptPage(origin, `lengths of ${lengthBits} bits`);
  const visibleCount = page.visibleItemCount;
  const least = control.byteWidth === 0 ? lengthBits / 8 : control.byteWidth;
  if (visibleCount > page.itemCount || page.itemCount * least > events.length) {
    throw corruptPage(origin, `${visibleCount} values in ${page.itemCount} events in ${events.length} bytes`);
  }
  if (events.length > MAXIMUM_POSITION) throw unsupportedPage(origin, "more than 2 GiB of values");
  const levels = newLevels(control, page.itemCount);
  const offsets = new Int32Array(visibleCount + 1);
  // Values are moved together within a copy of the page; a move never overwrites unread bytes.
  const bytes = new Uint8Array(events);
  const { maximumVisible } = layers;
  if (!unzipVariable(bytes, lengthBits / 8, control, maximumVisible, levels, page.itemCount, offsets)) {
    throw corruptPage(origin, "values do not fill their page");
  }
  return { offsets, bytes: bytes.subarray(0, offsets[visibleCount]), levels };
}

/**
 * Moves the values to the front of `bytes`, which holds the events, and writes their ends to `offsets`. False
 * unless the events fill `bytes` exactly and the visible ones fill `offsets` exactly.
 */
function unzipVariable(
  bytes: Uint8Array,
  lengthBytes: number,
  control: ControlWord,
  maximumVisible: number,
  { repetition, definition }: Levels,
  eventCount: number,
  offsets: Int32Array,
): boolean {
  const { byteWidth: controlBytes, defBits } = control;
  const mask = 2 ** defBits - 1;
  const total = bytes.length;
  const visibleCount = offsets.length - 1;
  let read = 0;
  let written = 0;
  let value = 0;
  for (let event = 0; event < eventCount; event++) {
    let level = 0;
    if (controlBytes > 0) {
      if (read + controlBytes > total) return false;
      let word = bytes[read];
      if (controlBytes > 1) word |= bytes[read + 1] << 8;
      if (controlBytes > 2) word = (word | (bytes[read + 2] << 16) | (bytes[read + 3] << 24)) >>> 0;
      read += controlBytes;
      level = word & mask;
      if (definition !== null) definition[event] = level;
      if (repetition !== null) repetition[event] = word >>> defBits;
      if (level > maximumVisible) continue;
    }
    if (value === visibleCount) return false;
    if (level === 0) {
      if (read + lengthBytes > total) return false;
      const length =
        (bytes[read] | (bytes[read + 1] << 8) | (bytes[read + 2] << 16) | (bytes[read + 3] << 24)) >>> 0;
      if (
        lengthBytes === 8 &&
        (bytes[read + 4] | bytes[read + 5] | bytes[read + 6] | bytes[read + 7]) !== 0
      ) {
        return false;
      }
      read += lengthBytes;
      if (length > total - read) return false;
      bytes.copyWithin(written, read, read + length);
      read += length;
      written += length;
    }
    offsets[++value] = written;
  }
  return read === total && value === visibleCount;
}
