/**
 * Decoding of a few rows of a mini-block page: of the chunks that hold them only these values. A bit-packed value
 * is taken out of its unit by its place, a string by its offsets, so that a row does not cost the thousand or more
 * that share its chunk. Where that is not possible the chunk is decoded, and nothing of the chunks without rows.
 *
 * Checks what it reads, like the decoder of whole pages does; what it does not read stays unchecked.
 */

import type { BitsColumn, FixedColumn, Layout, LeafColumn, VariableLayout } from "../../arrow/column.js";
import { isNested } from "../../arrow/spine.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { concatBytes } from "../../bytes/concat.js";
import { InternalError } from "../../errors.js";
import type { CompressiveEncoding, MiniBlockLayout } from "../../format/encodings.js";
import { packedUnitBytes } from "../compression/bitpack.js";
import { fixedDecoder } from "../compression/fixed.js";
import { finishVariable, MAXIMUM_POSITION, resolveVariable } from "../compression/variable.js";
import { describeLayers, levelDecoder, validityOfLevels } from "../levels.js";
import { corruptPage, type PageEncoding, type PageOrigin, unsupportedPage } from "../page.js";
import { decodeDictionary, resolveDictionary } from "./dictionary.js";

/** Share of a page's rows from which on decoding all of them is no dearer. */
const MOST = 0.25;

/** Whether `count` rows of a page of `rowCount` are worth picking. */
export function worthPicking(count: number, rowCount: number): boolean {
  return count <= rowCount * MOST;
}

/** Whether rows of a page of so many rows and buffers can be picked at all. */
export function pickable(
  layout: Layout,
  { miniBlock: page }: PageEncoding,
  rowCount: number,
  bufferCount: number,
): boolean {
  if (page === undefined || page.itemCount !== rowCount || page.layers.length !== 1) return false;
  if (page.repCompression !== undefined || page.repetitionIndexDepth > 0) return false;
  if (layout.kind === "list" || layout.kind === "struct" || layout.kind === "fixedSizeList") return false;
  if (page.dictionary !== undefined) return bufferCount >= 3;
  return (
    bufferCount >= 2 && (layout.kind === "variable" || layout.kind === "fixed" || layout.kind === "bits")
  );
}

/**
 * The rows at ascending `positions` of a {@link pickable} page, in memory of their own but for the dictionary.
 * @param positions in the page; each once
 */
export function pickRows(
  layout: Layout,
  { miniBlock: page }: PageEncoding,
  buffers: readonly Uint8Array[],
  positions: Uint32Array,
  origin: PageOrigin,
): LeafColumn {
  if (page === undefined || isNested(layout)) {
    throw new InternalError(`rows can't be picked out of the page at ${origin.byteOffset} of ${origin.path}`);
  }
  const hasDictionary = page.dictionary !== undefined;
  if (layout.kind === "variable" && !hasDictionary) {
    const values = new VariablePicker(layout, page.valueCompression, positions.length, origin);
    return withValidity(
      page,
      pickChunks(page, buffers, positions, values, origin),
      () => values.finish(),
      origin,
    );
  }
  const values = new FixedPicker(page.valueCompression, positions.length, origin);
  const width = layout.kind === "fixed" ? layout.byteWidth * 8 : 1;
  if (!hasDictionary) {
    if (values.bitsPerValue !== width) {
      throw corruptPage(origin, `${values.bitsPerValue}-bit values in a column of ${width}-bit values`);
    }
    return withValidity(
      page,
      pickChunks(page, buffers, positions, values, origin),
      () => values.finish(),
      origin,
    );
  }
  const bits = values.bitsPerValue;
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64) {
    throw corruptPage(origin, `dictionary indices of ${bits} bits`);
  }
  const definition = pickChunks(page, buffers, positions, values, origin);
  const encoding = page.dictionary as CompressiveEncoding;
  const dictionary = decodeDictionary(layout, encoding, buffers[2], page.dictionaryItemCount, origin);
  const indices = values.finish() as FixedColumn;
  const resolve = () => resolveDictionary(layout, indices, dictionary, definition, origin) as LeafColumn;
  return withValidity(page, definition, resolve, origin);
}

function withValidity(
  page: MiniBlockLayout,
  definition: Uint16Array | null,
  finish: () => LeafColumn,
  origin: PageOrigin,
): LeafColumn {
  const validity = validityOfLevels(
    definition,
    describeLayers(page.layers, origin).maximumDefinition,
    origin,
  );
  const values = finish();
  return validity === null ? values : { ...values, validity };
}

/** Gathers values out of chunks. */
interface Picker {
  readonly bufferCount: number;
  /**
   * Takes values out of a chunk.
   * @param count values of the chunk
   * @param places of the values, counted from the chunk's first
   * @param definition levels of these values, or null where none is null
   */
  pick(
    buffers: readonly Uint8Array[],
    count: number,
    places: Uint32Array,
    definition: Uint16Array | null,
  ): void;
}

/** Walks the chunks that hold the positions; returns the definition levels there, null where there are none. */
function pickChunks(
  page: MiniBlockLayout,
  [words, data]: readonly Uint8Array[],
  positions: Uint32Array,
  values: Picker,
  origin: PageOrigin,
): Uint16Array | null {
  if (values.bufferCount !== page.bufferCount) {
    throw corruptPage(origin, `${page.bufferCount} value buffers where ${values.bufferCount} are read`);
  }
  const definition = page.defCompression === undefined ? null : new Uint16Array(positions.length);
  const decoder = page.defCompression === undefined ? null : levelDecoder(page.defCompression, origin);
  const wordBytes = page.hasLargeChunk ? 4 : 2;
  const chunkCount = Math.floor(words.length / wordBytes);
  const view = new DataView(words.buffer, words.byteOffset, words.byteLength);
  const buffers: Uint8Array[] = new Array(page.bufferCount);
  let start = 0;
  let firstRow = 0;
  let next = 0;
  for (let chunk = 0; chunk < chunkCount && next < positions.length; chunk++) {
    const word = wordBytes === 4 ? view.getUint32(chunk * 4, true) : view.getUint16(chunk * 2, true);
    const count = chunk === chunkCount - 1 ? page.itemCount - firstRow : 2 ** (word & 15);
    const end = start + ((word >>> 4) + 1) * 8;
    if (count < 0 || firstRow + count > page.itemCount || end > data.length) {
      throw corruptPage(origin, `chunk ${chunk} leaves its page`);
    }
    let last = next;
    while (last < positions.length && positions[last] < firstRow + count) last++;
    if (last > next) {
      const places = positions.subarray(next, last).map((position) => position - firstRow);
      const levels = openChunk(page, data, start, end, count, decoder !== null, buffers, origin);
      let picked: Uint16Array | null = null;
      if (decoder !== null && definition !== null) {
        const decoded = new Uint16Array(count);
        decoder.decode([levels], 0, count, new Uint8Array(decoded.buffer), 0);
        picked = definition.subarray(next, last);
        for (let index = 0; index < places.length; index++) picked[index] = decoded[places[index]];
      }
      values.pick(buffers, count, places, picked);
      next = last;
    }
    start = end;
    firstRow += count;
  }
  if (next < positions.length) throw corruptPage(origin, `${page.itemCount} values in too few chunks`);
  return definition;
}

/** Finds the parts of the chunk at `start`: its value buffers, and its definition levels if it has them. */
function openChunk(
  page: MiniBlockLayout,
  data: Uint8Array,
  start: number,
  end: number,
  count: number,
  hasLevels: boolean,
  buffers: Uint8Array[],
  origin: PageOrigin,
): Uint8Array {
  const sizeBytes = page.hasLargeChunk ? 4 : 2;
  const headerBytes = (hasLevels ? 4 : 2) + buffers.length * sizeBytes;
  if (start + headerBytes > end) throw corruptPage(origin, "chunk shorter than its header");
  const view = new DataView(data.buffer, data.byteOffset + start, end - start);
  const levelCount = view.getUint16(0, true);
  if (levelCount !== (hasLevels ? count : 0)) {
    throw corruptPage(origin, `${levelCount} levels for the ${count} values of a chunk`);
  }
  let header = 2;
  let position = alignTo8(headerBytes);
  const part = (size: number): Uint8Array => {
    if (start + position + size > end) throw corruptPage(origin, "a part of a chunk leaves it");
    const bytes = data.subarray(start + position, start + position + size);
    position += alignTo8(size);
    return bytes;
  };
  let levels = data.subarray(0, 0);
  if (hasLevels) {
    levels = part(view.getUint16(header, true));
    header += 2;
  }
  for (let buffer = 0; buffer < buffers.length; buffer++, header += sizeBytes) {
    buffers[buffer] = part(sizeBytes === 4 ? view.getUint32(header, true) : view.getUint16(header, true));
  }
  return levels;
}

const alignTo8 = (size: number): number => Math.ceil(size / 8) * 8;

// ------------------------------------------------------------------------------------------- fixed width

/** Values of a whole number of bytes, or of one bit. */
class FixedPicker implements Picker {
  readonly bufferCount: number;
  readonly bitsPerValue: number;
  private readonly decoder: ReturnType<typeof fixedDecoder>;
  private readonly packed: boolean;
  private readonly flat: boolean;
  private readonly values: Uint8Array;
  private picked = 0;
  private scratch = new Uint8Array(0);

  constructor(
    encoding: CompressiveEncoding | undefined,
    private readonly count: number,
    private readonly origin: PageOrigin,
  ) {
    this.decoder = fixedDecoder(encoding, "chunk", origin);
    this.bitsPerValue = this.decoder.bitsPerValue;
    this.bufferCount = this.decoder.bufferCount;
    this.packed = encoding?.inlineBitpacking !== undefined;
    this.flat = encoding?.flat !== undefined && this.bitsPerValue >= 8;
    this.values = new Uint8Array(Math.ceil((count * this.bitsPerValue) / 8));
  }

  pick(buffers: readonly Uint8Array[], count: number, places: Uint32Array): void {
    const byteWidth = this.bitsPerValue / 8;
    if (this.packed && places.length * 16 < count) {
      this.unpack(buffers[0], count, places, byteWidth);
      return;
    }
    const plain = this.flat ? this.flatValues(buffers[0], count, byteWidth) : this.decode(buffers, count);
    const values = this.values;
    if (byteWidth < 1) {
      for (let index = 0; index < places.length; index++, this.picked++) {
        const place = places[index];
        const bit = (plain[place >>> 3] >>> (place & 7)) & 1;
        values[this.picked >>> 3] |= bit << (this.picked & 7);
      }
      return;
    }
    let write = this.picked * byteWidth;
    for (let index = 0; index < places.length; index++) {
      const read = places[index] * byteWidth;
      for (let byte = 0; byte < byteWidth; byte++) values[write++] = plain[read + byte];
    }
    this.picked += places.length;
  }

  private flatValues(buffer: Uint8Array, count: number, byteWidth: number): Uint8Array {
    if (buffer.length >= count * byteWidth) return buffer;
    throw corruptPage(this.origin, `${count} flat values in a buffer of ${buffer.length} bytes`);
  }

  private decode(buffers: readonly Uint8Array[], count: number): Uint8Array {
    const byteLength = Math.ceil((count * this.bitsPerValue) / 8);
    if (this.scratch.length < byteLength) this.scratch = new Uint8Array(byteLength);
    else this.scratch.fill(0);
    this.decoder.decode(buffers, 0, count, this.scratch, 0);
    return this.scratch;
  }

  /** Takes values out of a bit-packed unit (inlineBitpacking.ts), each by its place (bitpack.ts). */
  private unpack(unit: Uint8Array, count: number, places: Uint32Array, byteWidth: number): void {
    const wordBits = this.bitsPerValue;
    const bits = unit.length === 0 ? 0 : unit[0];
    if (bits > wordBits || count > 1024 || unit.length !== byteWidth + packedUnitBytes(bits)) {
      throw corruptPage(this.origin, `bit-packed unit of ${unit.length} bytes at ${bits} bits a value`);
    }
    const lanes = 1024 / wordBits;
    const values = this.values;
    for (let index = 0; index < places.length; index++) {
      const place = places[index];
      const lane = place & (lanes - 1);
      const row = ROW_GROUPS[((place & 127) - lane) >>> 4] * 8 + (place >>> 7);
      // Byte `at` of the lane's bits is byte `at` modulo the word of its word in every `lanes` words.
      const byteOf = (at: number) =>
        unit[byteWidth + (Math.floor(at / byteWidth) * lanes + lane) * byteWidth + (at % byteWidth)];
      const firstBit = row * bits;
      for (let taken = 0, write = this.picked * byteWidth; taken < bits; taken += 8, write++) {
        const at = (firstBit + taken) >>> 3;
        const shift = (firstBit + taken) & 7;
        const wanted = Math.min(8, bits - taken);
        let byte = byteOf(at) >>> shift;
        if (shift + wanted > 8) byte |= byteOf(at + 1) << (8 - shift);
        values[write] = byte & (2 ** wanted - 1);
      }
      this.picked++;
    }
  }

  finish(): FixedColumn | BitsColumn {
    const length = this.count;
    const values = this.values;
    if (this.bitsPerValue === 1) return { kind: "bits", length, validity: null, bits: values, bitOffset: 0 };
    return { kind: "fixed", byteWidth: this.bitsPerValue / 8, length, validity: null, values };
  }
}

/** Group of eight rows of a lane that holds values 16·index on; a permutation that is its own inverse. */
const ROW_GROUPS = Uint8Array.of(0, 4, 2, 6, 1, 5, 3, 7);

// ---------------------------------------------------------------------------------------- variable width

/** Strings and binaries. */
class VariablePicker implements Picker {
  readonly bufferCount = 1;
  private readonly encoding: ReturnType<typeof resolveVariable>;
  private readonly parts: Uint8Array[] = [];
  private readonly offsets: Int32Array;
  private picked = 0;

  constructor(
    private readonly layout: VariableLayout,
    encoding: CompressiveEncoding | undefined,
    count: number,
    private readonly origin: PageOrigin,
  ) {
    this.encoding = resolveVariable(encoding, origin);
    this.offsets = new Int32Array(count + 1);
  }

  pick(
    [buffer]: readonly Uint8Array[],
    count: number,
    places: Uint32Array,
    definition: Uint16Array | null,
  ): void {
    const { decompress, offsetBits } = this.encoding;
    const plain = alignedBytes(decompress === null ? buffer : decompress(buffer), 4);
    const stride = offsetBits / 32;
    const least = (count + 1) * stride * 4;
    if (plain.length < least) {
      throw corruptPage(this.origin, `${count + 1} offsets in a buffer of ${plain.length} bytes`);
    }
    const words = new Uint32Array(plain.buffer, plain.byteOffset, plain.length >>> 2);
    for (let index = 0; index < places.length; index++, this.picked++) {
      const at = this.offsets[this.picked];
      const place = places[index] * stride;
      const start = words[place];
      const end = words[place + stride];
      if (start < least || start > end || end > plain.length) {
        throw corruptPage(this.origin, "offsets of variable-width values do not ascend inside their buffer");
      }
      const isNull = definition !== null && definition[index] !== 0;
      const length = isNull ? 0 : end - start;
      if (at + length > MAXIMUM_POSITION) throw unsupportedPage(this.origin, "more than 2 GiB of values");
      this.offsets[this.picked + 1] = at + length;
      if (length > 0) this.parts.push(plain.subarray(start, end));
    }
  }

  finish(): LeafColumn {
    const bytes = concatBytes(this.parts, this.offsets[this.picked]);
    return finishVariable(this.layout, this.encoding.symbols, this.offsets, bytes, this.origin);
  }
}
