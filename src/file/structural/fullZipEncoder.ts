/** Encodes pages of the full-zip layout (fullZip.ts). */

import { type CompressiveEncoding, FullZipLayout, RepDefLayer } from "../../format/encodings.js";
import { describeVariable } from "../compression/variable.js";
import type { EncodedPage } from "../container/page.js";
import { isListLayer, levelBits, type PageLevels } from "../events/levels.js";
import { type ControlWord, controlWord } from "./fullZip.js";

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
