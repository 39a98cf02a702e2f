/**
 * Decodes a few rows of a mini-block page: only the wanted values, and only of the chunks that hold them. A bit-packed
 * value is read from its place in the unit, a string through its offsets, so a row does not cost the thousand or more
 * that share its chunk. Where that is not possible, the chunk is decoded; chunks without wanted rows never are.
 *
 * Checks what it reads, as the decoder of whole pages does. What it does not read stays unchecked.
 */

import type {
  BitsColumn,
  FixedColumn,
  Layout,
  LeafColumn,
  VariableLayout,
} from "../../arrow/columns/column.js";
import { isNested } from "../../arrow/columns/spine.js";
import { alignedBytes, alignTo8 } from "../../bytes/aligned.js";
import { InternalError } from "../../errors.js";
import type { CompressiveEncoding, MiniBlockLayout } from "../../format/encodings.js";
import { PACK_UNIT, packedUnitBytes } from "../compression/bitpack.js";
import { fixedDecoder } from "../compression/fixed.js";
import type { FixedDecoder } from "../compression/fixedDecoder.js";
import { pickBitpacked, type WordMemory, wordMemory } from "../compression/pickBitpacked.js";
import { PickedValues } from "../compression/pickVariable.js";
import { resolveVariable, type VariableEncoding } from "../compression/variable.js";
import { corruptPage, type PageEncoding, type PageOrigin } from "../container/page.js";
import { describeLayers, levelDecoder, validityOfLevels } from "../events/levels.js";
import { decodeDictionaryValues, resolveDictionary } from "../structural/dictionary.js";

/** Share of a page's rows above which decoding all of them is no dearer. */
const MOST = 0.25;

/** Whether `count` rows of a page of `rowCount` are worth picking. */
export function worthPicking(count: number, rowCount: number): boolean {
  return count <= rowCount * MOST;
}

/** Whether rows of a page with these numbers of rows and buffers can be picked at all. */
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
 * The rows at ascending `positions` of a {@link pickable} page. Except for the dictionary, they own their memory.
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
  const dictionary = decodeDictionaryValues(layout, encoding, buffers[2], page.dictionaryItemCount, origin);
  const indices = values.finish() as FixedColumn;
  const resolve = () =>
    resolveDictionary(layout, indices, dictionary, definition, false, origin) as LeafColumn;
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

/** A chunk that holds wanted values. */
interface Chunk {
  /** The page's chunks, at an address that is a multiple of 8. */
  readonly data: Uint8Array;
  /** The same memory as words. */
  readonly memory: WordMemory;
  /** Where in the data each value buffer begins; `sizes` has its bytes. */
  readonly starts: number[];
  readonly sizes: number[];
  /** Number of values in the chunk. */
  count: number;
  /** Row of the page with which the chunk begins. */
  firstRow: number;
}

/** Collects values from chunks. */
interface Picker {
  readonly bufferCount: number;
  /**
   * Takes the values at `positions[first]` to `positions[end - 1]` of the page from the chunk that holds them.
   * @param definition levels of the values at all positions, or null where none is null
   */
  pick(
    chunk: Chunk,
    positions: Uint32Array,
    first: number,
    end: number,
    definition: Uint16Array | null,
  ): void;
}

/** Walks the chunks that hold the positions. Returns the definition levels there, null if the page has none. */
function pickChunks(
  page: MiniBlockLayout,
  [words, bytes]: readonly Uint8Array[],
  positions: Uint32Array,
  values: Picker,
  origin: PageOrigin,
): Uint16Array | null {
  if (values.bufferCount !== page.bufferCount) {
    throw corruptPage(origin, `${page.bufferCount} value buffers where ${values.bufferCount} are read`);
  }
  const data = alignedBytes(bytes, 8);
  const definition = page.defCompression === undefined ? null : new Uint16Array(positions.length);
  const levels = page.defCompression === undefined ? null : new LevelPicker(page.defCompression, origin);
  const chunk: Chunk = {
    data,
    memory: wordMemory(data),
    starts: new Array(page.bufferCount).fill(0),
    sizes: new Array(page.bufferCount).fill(0),
    count: 0,
    firstRow: 0,
  };
  const wordBytes = page.hasLargeChunk ? 4 : 2;
  const chunkCount = Math.floor(words.length / wordBytes);
  const view = new DataView(words.buffer, words.byteOffset, words.byteLength);
  let start = 0;
  let next = 0;
  for (let index = 0; index < chunkCount && next < positions.length; index++) {
    const word = wordBytes === 4 ? view.getUint32(index * 4, true) : view.getUint16(index * 2, true);
    const count = index === chunkCount - 1 ? page.itemCount - chunk.firstRow : 2 ** (word & 15);
    const end = start + ((word >>> 4) + 1) * 8;
    const lastRow = chunk.firstRow + count;
    if (count < 0 || lastRow > page.itemCount || end > data.length) {
      throw corruptPage(origin, `chunk ${index} leaves its page`);
    }
    if (positions[next] < lastRow) {
      let last = next + 1;
      while (last < positions.length && positions[last] < lastRow) last++;
      chunk.count = count;
      openChunk(page, chunk, start, end, levels, origin);
      if (levels !== null && definition !== null) levels.pick(chunk, positions, next, last, definition);
      values.pick(chunk, positions, next, last, definition);
      next = last;
    }
    start = end;
    chunk.firstRow = lastRow;
  }
  if (next < positions.length) throw corruptPage(origin, `${page.itemCount} values in too few chunks`);
  return definition;
}

/** Finds the parts of the chunk from `start` to `end`: its value buffers, and its definition levels if it has them. */
function openChunk(
  page: MiniBlockLayout,
  { data, starts, sizes, count }: Chunk,
  start: number,
  end: number,
  levels: LevelPicker | null,
  origin: PageOrigin,
): void {
  const sizeBytes = page.hasLargeChunk ? 4 : 2;
  const headerBytes = (levels === null ? 2 : 4) + starts.length * sizeBytes;
  if (start + headerBytes > end) throw corruptPage(origin, "chunk shorter than its header");
  const levelCount = data[start] | (data[start + 1] << 8);
  if (levelCount !== (levels === null ? 0 : count)) {
    throw corruptPage(origin, `${levelCount} levels for the ${count} values of a chunk`);
  }
  let header = start + 2;
  let position = start + alignTo8(headerBytes);
  if (levels !== null) {
    levels.start = position;
    levels.size = data[header] | (data[header + 1] << 8);
    position += alignTo8(levels.size);
    if (levels.start + levels.size > end) throw corruptPage(origin, "a part of a chunk leaves it");
    header += 2;
  }
  for (let buffer = 0; buffer < starts.length; buffer++, header += sizeBytes) {
    let size = data[header] | (data[header + 1] << 8);
    if (sizeBytes === 4) size = (size | (data[header + 2] << 16) | (data[header + 3] << 24)) >>> 0;
    if (position + size > end) throw corruptPage(origin, "a part of a chunk leaves it");
    starts[buffer] = position;
    sizes[buffer] = size;
    position += alignTo8(size);
  }
}

/** The definition levels of wanted values. */
class LevelPicker {
  /** Where the levels of the chunk begin; `size` is their bytes. */
  start = 0;
  size = 0;
  private readonly decoder: FixedDecoder;
  private decoded = new Uint16Array(0);

  constructor(encoding: CompressiveEncoding, origin: PageOrigin) {
    this.decoder = levelDecoder(encoding, origin);
  }

  pick(
    { data, count, firstRow }: Chunk,
    positions: Uint32Array,
    first: number,
    end: number,
    definition: Uint16Array,
  ): void {
    if (this.decoded.length < count) this.decoded = new Uint16Array(count);
    else this.decoded.fill(0);
    const { decoded } = this;
    const levels = [data.subarray(this.start, this.start + this.size)];
    this.decoder.decode(levels, 0, count, new Uint8Array(decoded.buffer), 0);
    for (let index = first; index < end; index++) definition[index] = decoded[positions[index] - firstRow];
  }
}

const bufferOf = ({ data, starts, sizes }: Chunk, buffer: number): Uint8Array =>
  data.subarray(starts[buffer], starts[buffer] + sizes[buffer]);

// ------------------------------------------------------------------------------------------- fixed width

/** Share of a bit-packed unit's values from which unpacking all of them is no dearer. */
const MOST_PICKED = 1 / 16;

/** Values of a whole number of bytes, or of one bit. */
class FixedPicker implements Picker {
  readonly bufferCount: number;
  readonly bitsPerValue: number;
  private readonly decoder: FixedDecoder;
  private readonly packed: boolean;
  private readonly flat: boolean;
  private readonly values: WordMemory;
  private scratch = wordMemory(new Uint8Array(0));

  /** @param count positions that are picked, over all chunks */
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
    this.values = wordMemory(new Uint8Array(Math.ceil((count * this.bitsPerValue) / 8)));
  }

  pick(chunk: Chunk, positions: Uint32Array, first: number, end: number): void {
    const { firstRow, count } = chunk;
    const byteWidth = this.bitsPerValue / 8;
    if (this.packed && end - first < count * MOST_PICKED) {
      this.unpack(chunk, byteWidth, positions, first, end);
    } else if (this.flat) {
      if (chunk.sizes[0] < count * byteWidth) {
        throw corruptPage(this.origin, `${count} flat values in a buffer of ${chunk.sizes[0]} bytes`);
      }
      this.copy(chunk.memory, chunk.starts[0], positions, first, end, firstRow);
    } else if (byteWidth >= 1) {
      this.copy(this.decode(chunk), 0, positions, first, end, firstRow);
    } else {
      const plain = this.decode(chunk).bytes;
      const { bytes } = this.values;
      for (let index = first; index < end; index++) {
        const place = positions[index] - firstRow;
        const bit = (plain[place >>> 3] >>> (place & 7)) & 1;
        bytes[index >>> 3] |= bit << (index & 7);
      }
    }
  }

  /** Copies values that lie back to back from `start` on, where the value of row `firstRow` lies. */
  private copy(
    from: WordMemory,
    start: number,
    positions: Uint32Array,
    first: number,
    end: number,
    firstRow: number,
  ): void {
    const byteWidth = this.bitsPerValue / 8;
    if (byteWidth === 8 || byteWidth === 4) {
      // Value buffers begin at multiples of 8, and so does all memory they are in.
      const { words } = from;
      const target = this.values.words;
      const base = start >>> 2;
      const width = byteWidth >>> 2;
      for (let index = first; index < end; index++) {
        const read = base + (positions[index] - firstRow) * width;
        target[index * width] = words[read];
        if (width === 2) target[index * 2 + 1] = words[read + 1];
      }
      return;
    }
    const { bytes } = from;
    const target = this.values.bytes;
    for (let index = first, write = first * byteWidth; index < end; index++) {
      const read = start + (positions[index] - firstRow) * byteWidth;
      for (let byte = 0; byte < byteWidth; byte++) target[write++] = bytes[read + byte];
    }
  }

  /** Decodes all values of a chunk into memory of the picker. */
  private decode(chunk: Chunk): WordMemory {
    const byteLength = Math.ceil((chunk.count * this.bitsPerValue) / 8);
    if (this.scratch.bytes.length >= byteLength) this.scratch.bytes.fill(0);
    else this.scratch = wordMemory(new Uint8Array(alignTo8(byteLength)));
    const buffers = chunk.starts.map((_, buffer) => bufferOf(chunk, buffer));
    this.decoder.decode(buffers, 0, chunk.count, this.scratch.bytes, 0);
    return this.scratch;
  }

  /** Takes values from a bit-packed unit (inlineBitpacking.ts). */
  private unpack(
    { memory, starts: [start], sizes: [size], count, firstRow }: Chunk,
    byteWidth: number,
    places: Uint32Array,
    first: number,
    end: number,
  ): void {
    const bits = size === 0 ? 0 : memory.bytes[start];
    if (bits > this.bitsPerValue || count > PACK_UNIT || size !== byteWidth + packedUnitBytes(bits)) {
      throw corruptPage(this.origin, `bit-packed unit of ${size} bytes at ${bits} bits a value`);
    }
    const values = { data: memory, start: start + byteWidth, bits, places, first, end, origin: firstRow };
    pickBitpacked(values, byteWidth, this.values, first);
  }

  finish(): FixedColumn | BitsColumn {
    const length = this.count;
    const values = this.values.bytes;
    if (this.bitsPerValue === 1) return { kind: "bits", length, validity: null, bits: values, bitOffset: 0 };
    return { kind: "fixed", byteWidth: this.bitsPerValue / 8, length, validity: null, values };
  }
}

// ---------------------------------------------------------------------------------------- variable width

/** Strings and binaries. */
class VariablePicker implements Picker {
  readonly bufferCount = 1;
  private readonly encoding: VariableEncoding;
  private readonly values: PickedValues;

  /** @param count positions that are picked, over all chunks */
  constructor(
    layout: VariableLayout,
    encoding: CompressiveEncoding | undefined,
    count: number,
    origin: PageOrigin,
  ) {
    this.encoding = resolveVariable(encoding, origin);
    this.values = new PickedValues(layout, this.encoding, count, origin);
  }

  pick(
    chunk: Chunk,
    positions: Uint32Array,
    first: number,
    end: number,
    definition: Uint16Array | null,
  ): void {
    const { decompress } = this.encoding;
    const { count, firstRow, memory, starts, sizes } = chunk;
    if (decompress === null) {
      const plain = { data: memory, start: starts[0], size: sizes[0], count, firstRow };
      this.values.pick(plain, positions, first, end, definition);
      return;
    }
    const bytes = alignedBytes(decompress(bufferOf(chunk, 0)), 4);
    const plain = { data: wordMemory(bytes), start: 0, size: bytes.length, count, firstRow };
    this.values.pick(plain, positions, first, end, definition);
  }

  finish(): LeafColumn {
    return this.values.finish();
  }
}
