/** Encodes packed structs as a page. */

import type {
  PackedMember,
  PackedMemberColumn,
  PackedStructColumn,
  PackedStructLayout,
  VariableLayout,
} from "../../arrow/columns/column.js";
import { runSync } from "../../async/eventLoop.js";
import { UnsupportedError } from "../../errors.js";
import type { CompressionOptions } from "../compression/compressionOptions.js";
import { joinRows, memberBytes, refuseNullBits, refuseNullMembers } from "../compression/packedStruct.js";
import { plainValues } from "../compression/plainValues.js";
import type { EncodedPage } from "../container/page.js";
import type { PageLevels } from "../events/levels.js";
import { encodeFixedValues, flat } from "../structural/fixedValues.js";
import { encodeFullZipVariable, mayZip } from "../structural/fullZip.js";
import { zipList } from "../structural/listValues.js";
import { MiniBlockEncoder } from "../structural/miniBlock.js";
import { encodePackedRows, type PackedPart } from "../structural/packedRows.js";
import { forwardFill, slotLevels } from "../structural/slots.js";
import { compressEach, storeValues } from "../structural/variableValues.js";
import type { PageTarget } from "./pageTarget.js";

/** The reference reads packed structs of fixed width in mini-blocks only, others in full-zip pages only. */
export function encodePacked(
  layout: PackedStructLayout,
  column: PackedStructColumn,
  levels: PageLevels,
  { version, compression, path }: PageTarget,
): EncodedPage {
  refuseNullMembers(layout, column, path);
  refuseNullBits(layout, column, path);
  const { length } = column;
  const definition = slotLevels(column);
  if (layout.children.every((member) => member.layout.kind === "fixed")) {
    const bitsPerValue = layout.children.map((member) => (memberBytes(member.layout) ?? 0) * 8);
    const rowBytes = bitsPerValue.reduce((sum, bits) => sum + bits, 0) / 8;
    const rows = forwardFill(joinRows(layout, column), rowBytes, definition, length);
    const encoder = new MiniBlockEncoder(version, levels, Math.ceil(length * (rowBytes + 0.2)) + 4096);
    const stored = encodeFixedValues(["flat"], encoder, rowBytes, rows, length, compression);
    return encoder.finish({
      ...stored,
      encoding: { packedStruct: { bitsPerValue, values: stored.encoding } },
    });
  }
  if (version === "2.1") {
    throw new UnsupportedError(
      `column ${path}: packed structs of other members than numbers need files of version 2.2`,
    );
  }
  if (!mayZip(levels)) {
    throw new UnsupportedError(
      `column ${path}: null structs around lists of packed structs with text are not supported by this release`,
    );
  }
  const parts = layout.children.map((member, index) =>
    storeMember(member.layout, column.children[index], definition, compression),
  );
  const { offsets, bytes, encoding } = encodePackedRows(parts, length, definition);
  return encodeFullZipVariable(32, offsets, bytes, levels, encoding);
}

function storeMember(
  layout: PackedMember["layout"],
  column: PackedMemberColumn,
  definition: Uint16Array | null,
  options: CompressionOptions,
): PackedPart {
  switch (column.kind) {
    case "fixed": {
      const { byteWidth, values: bytes } = column;
      return { kind: "fixed", encoding: flat(byteWidth * 8), pieces: [{ bytes, byteWidth }] };
    }
    case "fixedSizeList": {
      const { parts, encoding } = zipList(column);
      return { kind: "fixed", encoding, pieces: parts };
    }
    case "variable": {
      const { offsetBits, text } = layout as VariableLayout;
      const stored = runSync(storeValues(plainValues(column, definition), offsetBits, text, options));
      const { encoding, compressor } = stored;
      const { offsets, bytes } = compressor === null ? stored : compressEach(stored, compressor);
      return { kind: "variable", encoding, lengthBits: offsetBits, offsets, bytes };
    }
  }
}
