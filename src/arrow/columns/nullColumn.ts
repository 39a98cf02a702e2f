/** Makes columns of nulls. */
import type { Column, FixedColumn, Layout, Validity, VariableColumn } from "./column.js";

const NO_BYTES = new Uint8Array(0);

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
    case "dictionary": {
      const { byteWidth } = layout.index;
      return {
        kind: "dictionary",
        length,
        validity,
        indices: { ...layout.index, length, validity: null, values: new Uint8Array(length * byteWidth) },
        dictionary: nullColumn(layout.value, 0) as VariableColumn | FixedColumn,
      };
    }
    case "list": {
      const offsets = layout.offsetBits === 32 ? new Int32Array(length + 1) : new BigInt64Array(length + 1);
      return { kind: "list", length, validity, offsets, items: nullColumn(layout.item, 0) };
    }
    case "fixedSizeList":
    case "sizedList": {
      const { kind, dimension, item } = layout;
      return { kind, length, validity, dimension, items: nullColumn(item, length * dimension) } as Column;
    }
    case "struct":
    case "packedStruct": {
      const children = layout.children.map((child) => nullColumn(child.layout, length));
      return { kind: layout.kind, length, validity, children } as Column;
    }
  }
}
