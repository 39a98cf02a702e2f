/** Finds the values of a nested column that are neither null nor in something null. */

import type { Column, LeafColumn } from "../../arrow/columns/column.js";
import { InternalError } from "../../errors.js";

/**
 * Returns the leaf of a spine, and which of its values are neither null nor in a null list or struct.
 */
export function visibleLeaf(spine: Column): {
  readonly leaf: LeafColumn;
  isVisible(index: number): boolean;
} {
  let node = spine;
  let visible: Uint8Array | null = null;
  for (;;) {
    visible = hideNulls(visible, node);
    if (node.kind === "list") {
      visible = visibleItems(visible, node);
      node = node.items;
    } else if (node.kind === "struct") {
      node = node.children[0];
    } else {
      break;
    }
  }
  if (node.kind === "sizedList") throw new InternalError("lists of a fixed size cannot hold blobs");
  const flags = visible;
  return { leaf: node, isVisible: (index) => flags === null || flags[index] === 1 };
}

/** @returns for each value 1 if it is visible; null if all are */
function hideNulls(visible: Uint8Array | null, { validity, length }: Column): Uint8Array | null {
  if (validity === null) return visible;
  const flags = visible ?? new Uint8Array(length).fill(1);
  for (let index = 0; index < length; index++) {
    const bit = validity.bitOffset + index;
    flags[index] &= validity.bytes[bit >>> 3] >>> (bit & 7);
  }
  return flags;
}

function visibleItems(
  visible: Uint8Array | null,
  { offsets, items, length }: Extract<Column, { kind: "list" }>,
): Uint8Array {
  const flags = new Uint8Array(items.length);
  for (let list = 0; list < length; list++) {
    if (visible !== null && visible[list] === 0) continue;
    flags.fill(1, Number(offsets[list]), Number(offsets[list + 1]));
  }
  return flags;
}
