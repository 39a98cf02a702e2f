/** Layouts of the descriptors of blobs (blobDescriptors.ts). */

import type { FixedLayout, PackedStructLayout, VariableLayout } from "../../arrow/columns/column.js";

export const DESCRIPTOR_BYTES = 16;
export const DESCRIPTOR_LAYOUT: FixedLayout = { kind: "fixed", byteWidth: DESCRIPTOR_BYTES };

/** Layout of a leaf of version 2 blobs, for reading pages. */
export const PACKED_DESCRIPTOR_LAYOUT: VariableLayout = { kind: "variable", offsetBits: 32, text: false };

/** Layout of a leaf of version 2 blobs, for writing pages. */
export const DESCRIPTOR_ROW_LAYOUT: PackedStructLayout = {
  kind: "packedStruct",
  children: [
    { name: "kind", layout: { kind: "fixed", byteWidth: 1 }, nullable: false },
    { name: "position", layout: { kind: "fixed", byteWidth: 8 }, nullable: false },
    { name: "size", layout: { kind: "fixed", byteWidth: 8 }, nullable: false },
    { name: "blob_id", layout: { kind: "fixed", byteWidth: 4 }, nullable: false },
    { name: "blob_uri", layout: { kind: "variable", offsetBits: 32, text: true }, nullable: false },
  ],
};
