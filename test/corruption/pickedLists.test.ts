/** Picking rows refuses pages whose few bytes claim countless buffers, levels or values, as decoding does. */

import { describe, expect, it } from "vitest";
import type { Layout, LeafLayout } from "../../src/arrow/columns/column.js";
import { CorruptFileError } from "../../src/errors.js";
import { decodePage } from "../../src/file/pages/decodePage.js";
import { loadAllDecoders } from "../../src/file/pages/decoders.js";
import { pickable, pickRows } from "../../src/file/pages/pickRows.js";
import {
  CompressionScheme,
  type CompressiveEncoding,
  MiniBlockLayout,
  RepDefLayer,
} from "../../src/format/encodings.js";

await loadAllDecoders();

const ORIGIN = { path: "t.lance/data/x.lance", byteOffset: 128 };
const INT32: LeafLayout = { kind: "fixed", byteWidth: 4 };
const UTF8: LeafLayout = { kind: "variable", offsetBits: 32, text: true };
const listOf = (item: LeafLayout): Layout => ({
  kind: "list",
  offsetBits: 32,
  item,
  itemNullable: true,
  isMap: false,
});

const flat = (bitsPerValue: number): CompressiveEncoding => ({ flat: { bitsPerValue, data: undefined } });
/** Level 0 for every level of a chunk, in no bytes. */
const NO_BITS: CompressiveEncoding = {
  outOfLineBitpacking: { uncompressedBitsPerValue: 16, values: flat(0) },
};
const RUNS: CompressiveEncoding = { rle: { values: flat(16), runLengths: flat(32) } };

const miniBlock = (init: Partial<MiniBlockLayout>): MiniBlockLayout =>
  MiniBlockLayout.create({
    repCompression: NO_BITS,
    valueCompression: flat(32),
    layers: [RepDefLayer.ALL_VALID_ITEM, RepDefLayer.ALL_VALID_LIST],
    bufferCount: 1,
    ...init,
  });

/** Makes equal chunks. @param log2Values of all chunks but the last, which has the rest */
function chunksOf(chunk: Uint8Array, count: number, log2Values: number): Uint8Array[] {
  const words = new Uint16Array(count).fill(((chunk.length / 8 - 1) << 4) | log2Values);
  const data = new Uint8Array(chunk.length * count);
  for (let index = 0; index < count; index++) data.set(chunk, index * chunk.length);
  return [new Uint8Array(words.buffer), data];
}

const refusal = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(CorruptFileError);
    return (error as Error).message;
  }
  throw new Error("the page is not refused");
};

/** Returns the error of picking a row of the page; decoding it must fail too. */
function pickRefusal(layout: Layout, page: MiniBlockLayout, buffers: Uint8Array[], rowCount = 1): string {
  // The first event begins a row.
  const encoding = { miniBlock: page, withinRow: [0] };
  expect(pickable(layout, encoding, rowCount, buffers.length)).toBe(true);
  refusal(() => decodePage(layout, encoding, rowCount, buffers, ORIGIN));
  return refusal(() => pickRows(layout, encoding, rowCount, buffers, Uint32Array.of(rowCount - 1), ORIGIN));
}

it("pickable excludes pages of lists with more values than 32-bit positions reach", () => {
  const page = miniBlock({ itemCount: 2 ** 32 });
  expect(pickable(listOf(UTF8), { miniBlock: page }, 1, 2)).toBe(true);
  expect(pickable(listOf(UTF8), { miniBlock: { ...page, itemCount: 2 ** 32 + 1 } }, 1, 2)).toBe(false);
});

describe("picking rows of lists refuses", () => {
  it.each([
    0,
    2,
    1_000_000,
    2 ** 32 - 1,
    2 ** 32,
    Number.MAX_SAFE_INTEGER,
  ])("%d value buffers", (bufferCount) => {
    const chunk = new Uint8Array(48);
    // Eight values and their levels: one list each.
    new Uint16Array(chunk.buffer, 0, 8).set([8, 16, 32, 0, 1, 1, 1, 1]);
    new Uint16Array(chunk.buffer, 16, 4).fill(1);
    const lists = { repCompression: flat(16), itemCount: 8 };
    const buffers = chunksOf(new Uint8Array([...chunk, ...new Uint8Array(8)]), 1, 0);
    const page = miniBlock({ ...lists, bufferCount: 1 });
    const picked = pickRows(listOf(INT32), { miniBlock: page }, 8, buffers, Uint32Array.of(1, 7), ORIGIN);
    expect(picked.length).toBe(2);

    const message = pickRefusal(listOf(INT32), miniBlock({ ...lists, bufferCount }), buffers, 8);
    expect(message).toContain(`${bufferCount} value buffers where 1 are read`);
    const strings = {
      ...lists,
      bufferCount,
      valueCompression: { variable: { offsets: flat(32), values: undefined } },
    };
    expect(pickRefusal(listOf(UTF8), miniBlock(strings), buffers, 8)).toContain("where 1 are read");
  });

  it("levels that exceed their chunks, before it reads many", () => {
    // Each a value after empty lists: header, two runs of definition levels, value.
    const chunk = new Uint8Array(40);
    new Uint16Array(chunk.buffer).set([65_535, 0, 20, 4, 4, 0, 0, 0, 1, 0, 65_534, 0, 1]);
    const page = miniBlock({
      defCompression: RUNS,
      layers: [RepDefLayer.ALL_VALID_ITEM, RepDefLayer.EMPTYABLE_LIST],
      itemCount: 1_000,
    });
    const message = pickRefusal(listOf(INT32), page, chunksOf(chunk, 1_000, 0));
    expect(message).toContain("131070 levels in 80 bytes");
  });

  it("values that exceed their chunks, before it reads many", () => {
    const chunk = new Uint8Array(16);
    new Uint16Array(chunk.buffer)[0] = 32_768;
    const page = miniBlock({
      defCompression: NO_BITS,
      layers: [RepDefLayer.NULLABLE_ITEM, RepDefLayer.ALL_VALID_LIST],
    });
    const buffers = chunksOf(chunk, 4_000, 15);
    const itemCount = 4_000 * 32_768;
    expect(pickRefusal(listOf(INT32), { ...page, itemCount }, buffers)).toContain(
      "131072000 values of 32 bits in a page of 64000 bytes",
    );
    const bytes = { ...page, itemCount, valueCompression: flat(8) };
    expect(pickRefusal(listOf({ kind: "fixed", byteWidth: 1 }), bytes, buffers)).toContain(
      "32768 flat values in a buffer of 0 bytes",
    );
    const strings = {
      ...page,
      itemCount,
      valueCompression: { variable: { offsets: flat(32), values: undefined } },
    };
    expect(pickRefusal(listOf(UTF8), strings, buffers)).toContain("32769 offsets in a buffer of 0 bytes");
    // The page does not state the size of coded values: their levels are too many.
    const general = { compression: { scheme: CompressionScheme.ZSTD, level: undefined }, values: flat(32) };
    const coded = { ...page, itemCount: 2_000 * 32_768, valueCompression: { general } };
    const fewer = chunksOf(chunk, 2_000, 15);
    expect(pickRefusal(listOf(INT32), coded, fewer)).toContain("65536 levels in 32 bytes");
  });
});
