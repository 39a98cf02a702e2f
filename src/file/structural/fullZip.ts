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
import { type CompressiveEncoding, FullZipLayout, RepDefLayer } from "../../format/encodings.js";
import {
  describeVariable,
  finishEach,
  MAXIMUM_POSITION,
  resolveVariable,
  type VariableEncoding,
} from "../compression/variable.js";
import { corruptPage, type EncodedPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import {
  isListLayer,
  type Layers,
  type Levels,
  levelBits,
  type PageLevels,
  type StructuralPage,
} from "../events/levels.js";
import type { PageEvents } from "./miniBlock.js";
import { decodePackedRows } from "./packedRows.js";
import { valueShape } from "./valueShape.js";

/** Decodes a page. Without lists it has as many events as values; the caller has checked both numbers. */
export function decodeFullZip(
  layout: LeafLayout,
  { page, layers, buffers, origin }: StructuralPage<FullZipLayout>,
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
    return { values: finishEach(layout, encoding, offsets, bytes, origin), levels };
  }
  return decodeFixedEvents(layout, page, layers, control, events, origin);
}

interface ControlWord {
  readonly byteWidth: 0 | 1 | 2 | 4;
  readonly repBits: number;
  readonly defBits: number;
}

function controlWord(repBits: number, defBits: number): ControlWord {
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
const PACKED_ROWS: VariableEncoding = { offsetBits: 32, decompress: null, symbols: null };

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

/** True if full-zip pages may be used: in such a page, the reference takes nulls around a list for values. */
export function mayZip({ layers }: PageLevels): boolean {
  const firstList = layers.findIndex(isListLayer);
  return firstList < 0 || !layers.includes(RepDefLayer.NULLABLE_ITEM, firstList);
}

/** Encodes values of a fixed width without levels. The page is the pieces, back to back. */
export function encodeFullZipFlat(
  pieces: readonly Uint8Array[],
  bitsPerValue: number,
  levels: PageLevels,
  valueCompression: CompressiveEncoding,
): EncodedPage {
  const { layers, rowCount } = levels;
  const fullZip = FullZipLayout.create({
    bitsPerValue,
    itemCount: rowCount,
    visibleItemCount: rowCount,
    valueCompression,
    layers: [...layers],
  });
  return { encoding: { fullZip }, buffers: [pieces], rowCount };
}

/** One part of every value: `byteWidth` bytes per value, back to back. */
export interface ZippedPart {
  readonly bytes: Uint8Array;
  readonly byteWidth: number;
}

const controlOf = ({ listDepth, maximumDefinition }: PageLevels): ControlWord =>
  controlWord(levelBits(listDepth), levelBits(maximumDefinition));

/**
 * Encodes values of a fixed width that consist of parts (item validity, items). Each value follows its
 * control word; the value of a null is zeros.
 * @param valueCount number of visible events
 */
export function encodeFullZipFixed(
  parts: readonly ZippedPart[],
  valueCount: number,
  levels: PageLevels,
  valueCompression: CompressiveEncoding,
): EncodedPage {
  const { repetition, definition, eventCount, listDepth, maximumVisible } = levels;
  const control = controlOf(levels);
  const { byteWidth: controlBytes, defBits } = control;
  const valueBytes = parts.reduce((sum, part) => sum + part.byteWidth, 0);
  const output = new Uint8Array(controlBytes * eventCount + valueBytes * valueCount);
  const starts = repetition === null ? null : new Float64Array(levels.rowCount + 1);
  let row = 0;
  let value = 0;
  let write = 0;
  for (let event = 0; event < eventCount; event++) {
    const level = definition === null ? 0 : definition[event];
    const repeated = repetition === null ? 0 : repetition[event];
    if (starts !== null && repeated === listDepth) starts[row++] = write;
    const word = (repeated << defBits) | level;
    for (let byte = 0; byte < controlBytes; byte++) output[write++] = word >>> (8 * byte);
    if (level > maximumVisible) continue;
    if (level === 0) {
      let partStart = write;
      for (const { bytes, byteWidth } of parts) {
        const read = value * byteWidth;
        if (byteWidth >= SHORT_PART) output.set(bytes.subarray(read, read + byteWidth), partStart);
        else for (let byte = 0; byte < byteWidth; byte++) output[partStart + byte] = bytes[read + byte];
        partStart += byteWidth;
      }
    }
    write += valueBytes;
    value++;
  }
  const fullZip = FullZipLayout.create({
    repBits: control.repBits,
    defBits,
    bitsPerValue: valueBytes * 8,
    itemCount: eventCount,
    visibleItemCount: valueCount,
    valueCompression,
    layers: [...levels.layers],
  });
  const buffers: Uint8Array[][] = [[output]];
  if (starts !== null) {
    starts[row] = write;
    buffers.push([encodeRepetitionIndex(starts, (controlBytes + valueBytes) * eventCount)]);
  }
  return { encoding: { fullZip }, buffers, rowCount: levels.rowCount };
}

/** Fewer bytes than this are copied one by one, others by a call. */
const SHORT_PART = 48;

/**
 * Encodes values of variable width, each after its control word and length; a null is its control word alone.
 * @param offsets positions in `bytes` of the values of visible events, starting at 0; nulls are empty
 */
export function encodeFullZipVariable(
  offsetBits: 32 | 64,
  offsets: Int32Array,
  bytes: Uint8Array,
  levels: PageLevels,
  valueCompression: CompressiveEncoding = describeVariable(offsetBits),
): EncodedPage {
  const { repetition, definition, eventCount, listDepth, maximumVisible } = levels;
  const valueCount = offsets.length - 1;
  const control = controlOf(levels);
  const { byteWidth: controlBytes, defBits } = control;
  const lengthBytes = offsetBits / 8;
  const output = new Uint8Array(eventCount * (controlBytes + lengthBytes) + bytes.length);
  const starts = new Float64Array(levels.rowCount + 1);
  let row = 0;
  let value = 0;
  let write = 0;
  for (let event = 0; event < eventCount; event++) {
    const level = definition === null ? 0 : definition[event];
    const repeated = repetition === null ? 0 : repetition[event];
    if (repetition === null || repeated === listDepth) starts[row++] = write;
    const word = (repeated << defBits) | level;
    for (let byte = 0; byte < controlBytes; byte++) output[write++] = word >>> (8 * byte);
    if (level > maximumVisible) continue;
    const start = offsets[value];
    const end = offsets[++value];
    if (level !== 0) continue;
    const length = end - start;
    output[write] = length;
    output[write + 1] = length >>> 8;
    output[write + 2] = length >>> 16;
    output[write + 3] = length >>> 24;
    write += lengthBytes;
    if (length < SHORT_PART) for (let read = start; read < end; ) output[write++] = bytes[read++];
    else {
      output.set(bytes.subarray(start, end), write);
      write += length;
    }
  }
  starts[row] = write;
  const fullZip = FullZipLayout.create({
    repBits: control.repBits,
    defBits,
    bitsPerOffset: offsetBits,
    itemCount: eventCount,
    visibleItemCount: valueCount,
    valueCompression,
    layers: [...levels.layers],
  });
  return {
    encoding: { fullZip },
    buffers: [[output.subarray(0, write)], [encodeRepetitionIndex(starts, output.length)]],
    rowCount: levels.rowCount,
  };
}

/** Encodes row starts as words just wide enough for `largest`, the size of the events if all had values. */
function encodeRepetitionIndex(starts: Float64Array, largest: number): Uint8Array {
  if (largest <= 0xff) return Uint8Array.from(starts);
  if (largest <= 0xffff) return new Uint8Array(Uint16Array.from(starts).buffer);
  if (largest <= 0xffffffff) return new Uint8Array(Uint32Array.from(starts).buffer);
  const halves = new Uint32Array(2 * starts.length);
  for (let index = 0; index < starts.length; index++) {
    halves[2 * index] = starts[index] % 2 ** 32;
    halves[2 * index + 1] = Math.floor(starts[index] / 2 ** 32);
  }
  return new Uint8Array(halves.buffer);
}
