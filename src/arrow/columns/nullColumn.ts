/** Makes columns of nulls. */
import type { Column, FixedColumn, FixedSizeListColumn, Layout, Validity, VariableColumn } from "./column.js";

const NO_BYTES = new Uint8Array(0);

/** Returns a column without values. */
function emptyColumn(layout: Layout): Column {
  return nullColumn(layout, 0);
}

/** Returns a column of `length` nulls. */
export function nullColumn(layout: Layout, length: number): Column {
  const validity: Validity | null =
    length === 0 ? null : { bytes: new Uint8Array((length + 7) >>> 3), bitOffset: 0, nullCount: length };
  switch (layout.kind) {
    case "null":
      return { kind: "null", length, validity: null };
    case "fixed": {
      const { byteWidth } = layout;
      return { kind: "fixed", length, validity, byteWidth, values: new Uint8Array(length * byteWidth) };
    }
    case "bits":
      return { kind: "bits", length, validity, bits: new Uint8Array((length + 7) >>> 3), bitOffset: 0 };
    case "variable": {
      const offsets = layout.offsetBits === 32 ? new Int32Array(length + 1) : new BigInt64Array(length + 1);
      return { kind: "variable", length, validity, offsets, bytes: NO_BYTES };
    }
    case "fixedSizeList": {
      const { dimension, item } = layout;
      const items = nullColumn(item, length * dimension) as FixedSizeListColumn["items"];
      return { kind: "fixedSizeList", length, validity, dimension, items };
    }
    case "dictionary":
      return {
        kind: "dictionary",
        length,
        validity,
        indices: {
          kind: "fixed",
          length,
          validity: null,
          byteWidth: layout.index.byteWidth,
          values: new Uint8Array(length * layout.index.byteWidth),
        },
        dictionary: emptyColumn(layout.value) as VariableColumn | FixedColumn,
      };
    case "list": {
      const offsets = layout.offsetBits === 32 ? new Int32Array(length + 1) : new BigInt64Array(length + 1);
      return { kind: "list", length, validity, offsets, items: emptyColumn(layout.item) };
    }
    case "sizedList": {
      const { dimension, item } = layout;
      return { kind: "sizedList", length, validity, dimension, items: nullColumn(item, length * dimension) };
    }
    case "struct":
    case "packedStruct": {
      const children = layout.children.map((child) => nullColumn(child.layout, length));
      return { kind: layout.kind, length, validity, children } as Column;
    }
  }
}
