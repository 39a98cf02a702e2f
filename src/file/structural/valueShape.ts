/**
 * Bytes of a single value of fixed width: a number as it is, a boolean in a byte. A fixed-size list with null
 * items starts with one bitmap per such list layer, outermost first, each padded to whole bytes. If all items
 * of a list layer are null, a constant without a value stands for them, and they take no bytes. If it stands
 * for the values themselves and no level says otherwise, the values are null, too, as in the reference.
 */

import type {
  BitsColumn,
  Column,
  FixedColumn,
  FixedSizeListColumn,
  FixedSizeListLayout,
  LeafLayout,
} from "../../arrow/columns/column.js";
import { copyBits } from "../../bytes/bits.js";
import type { CompressiveEncoding } from "../../format/encodings.js";
import { encodingName } from "../compression/fixed.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { withItemValidity } from "./chunkValues.js";

/** Maximum bits of values in a page of nulls: such a page has few bytes, whatever it says. */
const MAX_NULL_BITS = 2 ** 30;

/** Layout of one value of fixed width in its bytes. */
interface ValueShape {
  readonly byteWidth: number;
  /** Returns the column of `count` values that lie back to back; a view of them if possible. */
  column(values: Uint8Array, count: number): Column;
}

export function valueShape(
  layout: LeafLayout,
  encoding: CompressiveEncoding | undefined,
  origin: PageOrigin,
): ValueShape {
  if (encoding === undefined) throw corruptPage(origin, "missing encoding");
  if (layout.kind === "fixedSizeList") return listShape(layout, encoding, origin);
  if (layout.kind === "bits") {
    expectFlat(encoding, 8, origin);
    return { byteWidth: 1, column: packBooleans };
  }
  if (layout.kind !== "fixed") {
    throw unsupportedPage(origin, `full-zip values of fixed width for a column of layout ${layout.kind}`);
  }
  expectFlat(encoding, layout.byteWidth * 8, origin);
  return {
    byteWidth: layout.byteWidth,
    column: (values, count) => fixedColumn(values, layout.byteWidth, count),
  };
}

function listShape(
  layout: FixedSizeListLayout,
  encoding: CompressiveEncoding,
  origin: PageOrigin,
): ValueShape {
  // Bits of each bitmap before a value's items; null for list layers whose items are all valid.
  const bitmaps: (number | null)[] = [];
  /** Items of each list layer in one value. */
  const itemCounts: number[] = [];
  let node: CompressiveEncoding | undefined = encoding;
  let level: FixedSizeListLayout["item"] = layout;
  let itemCount = 1;
  /** Number of list layers around a constant; null without one. */
  let nullDepth: number | null = null;
  while (level.kind === "fixedSizeList") {
    if (node?.constant !== undefined && node.constant.value === undefined) nullDepth ??= bitmaps.length;
    if (nullDepth !== null) {
      itemCount *= level.dimension;
      bitmaps.push(null);
      itemCounts.push(itemCount);
      level = level.item;
      continue;
    }
    const list: CompressiveEncoding["fixedSizeList"] = node?.fixedSizeList;
    if (list === undefined) {
      const name = node === undefined ? "nothing" : encodingName(node);
      throw unsupportedPage(origin, `${name} for fixed-size lists`);
    }
    if (list.itemsPerValue !== level.dimension) {
      throw corruptPage(origin, `lists of ${list.itemsPerValue} items in a column of ${level.dimension}`);
    }
    itemCount *= level.dimension;
    bitmaps.push(list.hasValidity ? itemCount : null);
    itemCounts.push(itemCount);
    node = list.values;
    level = level.item;
  }
  const itemBits = level.kind === "bits" ? 1 : level.byteWidth * 8;
  if (node === undefined) throw corruptPage(origin, "missing encoding");
  if (nullDepth === null) expectFlat(node, itemBits, origin);
  const itemsBytes = nullDepth === null ? Math.ceil((itemCount * itemBits) / 8) : 0;
  let bitmapBytes = 0;
  for (const bits of bitmaps) bitmapBytes += bits === null ? 0 : Math.ceil(bits / 8);
  const byteWidth = bitmapBytes + itemsBytes;
  const leafBits = itemCount * itemBits;
  return {
    byteWidth,
    column(values, count) {
      if (nullDepth !== null && count * leafBits > MAX_NULL_BITS) {
        throw unsupportedPage(origin, `${count} lists of nulls in one page`);
      }
      const items =
        nullDepth !== null
          ? new Uint8Array(Math.ceil((count * leafBits) / 8))
          : bitmapBytes === 0 && leafBits === itemsBytes * 8
            ? values
            : gatherBits(values, count, byteWidth, bitmapBytes, leafBits);
      let gatheredAt = 0;
      const validities = bitmaps.map((bits, depth) => {
        if (depth === nullDepth) return new Uint8Array(Math.ceil((count * itemCounts[depth]) / 8));
        if (bits === null) return null;
        const gathered = gatherBits(values, count, byteWidth, gatheredAt, bits);
        gatheredAt += Math.ceil(bits / 8);
        return gathered;
      });
      const lists = listColumn(layout, items, validities, 0, count);
      if (nullDepth !== 0) return lists;
      const noBits = new Uint8Array(Math.ceil(count / 8));
      return { ...lists, validity: { bytes: noBits, bitOffset: 0, nullCount: count } };
    },
  };
}

/** Gathers the `bits` bits at byte `start` of each of `count` values of `stride` bytes, without gaps. */
function gatherBits(
  values: Uint8Array,
  count: number,
  stride: number,
  start: number,
  bits: number,
): Uint8Array {
  const gathered = new Uint8Array(Math.ceil((count * bits) / 8));
  if (bits % 8 === 0) {
    const byteLength = bits / 8;
    for (let value = 0, read = start; value < count; value++, read += stride) {
      gathered.set(values.subarray(read, read + byteLength), value * byteLength);
    }
  } else {
    for (let value = 0; value < count; value++) {
      copyBits(values, (value * stride + start) * 8, gathered, value * bits, bits);
    }
  }
  return gathered;
}

function listColumn(
  layout: FixedSizeListLayout,
  items: Uint8Array,
  validities: readonly (Uint8Array | null)[],
  depth: number,
  count: number,
): FixedSizeListColumn {
  const itemCount = count * layout.dimension;
  const item = layout.item;
  let column: FixedSizeListColumn["items"];
  if (item.kind === "fixedSizeList") column = listColumn(item, items, validities, depth + 1, itemCount);
  else if (item.kind === "bits") column = bitsColumn(items, itemCount);
  else column = fixedColumn(items, item.byteWidth, itemCount);
  const validity = validities[depth];
  return {
    kind: "fixedSizeList",
    dimension: layout.dimension,
    length: count,
    validity: null,
    items: validity === null ? column : withItemValidity(column, validity),
  };
}

const fixedColumn = (values: Uint8Array, byteWidth: number, length: number): FixedColumn => ({
  kind: "fixed",
  byteWidth,
  length,
  validity: null,
  values,
});

const bitsColumn = (bits: Uint8Array, length: number): BitsColumn => ({
  kind: "bits",
  length,
  validity: null,
  bits,
  bitOffset: 0,
});

/** Packs booleans that take a byte each. */
function packBooleans(values: Uint8Array, count: number): BitsColumn {
  const bits = new Uint8Array(Math.ceil(count / 8));
  for (let index = 0; index < count; index++) {
    if (values[index] !== 0) bits[index >>> 3] |= 1 << (index & 7);
  }
  return bitsColumn(bits, count);
}

function expectFlat(encoding: CompressiveEncoding, bits: number, origin: PageOrigin): void {
  if (encoding.flat === undefined || encoding.flat.data !== undefined) {
    throw unsupportedPage(origin, `${encodingName(encoding)} for full-zip values of fixed width`);
  }
  if (encoding.flat.bitsPerValue !== bits) {
    throw corruptPage(origin, `${encoding.flat.bitsPerValue}-bit values in a column of ${bits}-bit values`);
  }
}
