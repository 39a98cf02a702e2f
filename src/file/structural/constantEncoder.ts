/** Encodes pages of the constant layout (constant.ts). */

import type { LeafLayout, VariableLayout } from "../../arrow/columns/column.js";
import { bytesOf } from "../../bytes/view.js";
import { ConstantLayout, RepDefLayer } from "../../format/encodings.js";
import type { EncodedPage, StructuralVersion } from "../container/page.js";
import { levelBits, type PageLevels } from "../events/levels.js";
import { encodeLevels, levelEncoder } from "./levelEncoder.js";

/** Encodes a page without values: nulls and, in lists, empty lists. Levels are compressed from 2.2 on. */
export function encodeAllNull(levels: PageLevels, version: StructuralVersion): EncodedPage {
  const { layers, repetition, definition } = levels;
  if (layers.length === 1) {
    return constantPage(levels, { layers: [RepDefLayer.NULLABLE_ITEM] }, []);
  }
  if (version === "2.1") return constantPage(levels, {}, levelBuffers(repetition, definition));
  const encoded = (stream: Uint16Array | null, bits: number) => {
    if (stream === null) return { encoding: undefined, count: 0, pieces: [] };
    const encoder = levelEncoder(stream, bits, version);
    const pieces = [encodeLevels(encoder, stream.length)];
    return { encoding: encoder.encoding, count: stream.length, pieces };
  };
  const packedRepetition = encoded(repetition, levelBits(levels.listDepth));
  const packedDefinition = encoded(definition, levelBits(levels.maximumDefinition));
  return constantPage(
    levels,
    {
      repCompression: packedRepetition.encoding,
      defCompression: packedDefinition.encoding,
      repValueCount: packedRepetition.count,
      defValueCount: packedDefinition.count,
    },
    [packedRepetition.pieces, packedDefinition.pieces],
  );
}

/** Largest value stored in the page's description; the reference reads no larger one. */
const MAXIMUM_INLINE_BYTES = 32;

/** Encodes a page of one value (2.2), with levels as plain words. */
export function encodeConstant(value: Uint8Array, layout: LeafLayout, levels: PageLevels): EncodedPage {
  const { repetition, definition } = levels;
  const streams = repetition === null && definition === null ? [] : levelBuffers(repetition, definition);
  if (layout.kind === "variable")
    return constantPage(levels, {}, [[encodeScalar(value, layout)], ...streams]);
  if (value.length <= MAXIMUM_INLINE_BYTES) {
    // A copy: the description is written last, when the memory of the rows may be in use again.
    return constantPage(levels, { inlineValue: value.slice() }, streams);
  }
  return constantPage(levels, {}, [[encodeFixedScalar(value)], ...streams]);
}

const levelBuffers = (repetition: Uint16Array | null, definition: Uint16Array | null): Uint8Array[][] =>
  [repetition, definition].map((stream) => (stream === null ? [] : [bytesOf(stream)]));

function constantPage(
  { layers, rowCount }: PageLevels,
  description: Partial<ConstantLayout>,
  buffers: readonly (readonly Uint8Array[])[],
): EncodedPage {
  const constant = ConstantLayout.create({ layers: [...layers], ...description });
  return { encoding: { constant }, buffers, rowCount };
}

function encodeFixedScalar(value: Uint8Array): Uint8Array {
  const scalar = new Uint8Array(8 + value.length);
  const view = new DataView(scalar.buffer);
  view.setUint32(0, 1, true);
  view.setUint32(4, value.length, true);
  scalar.set(value, 8);
  return scalar;
}

function encodeScalar(value: Uint8Array, layout: VariableLayout): Uint8Array {
  const offsetBytes = (2 * layout.offsetBits) / 8;
  const scalar = new Uint8Array(12 + offsetBytes + value.length);
  const view = new DataView(scalar.buffer);
  view.setUint32(0, 2, true);
  view.setUint32(4, offsetBytes, true);
  view.setUint32(8, value.length, true);
  view.setUint32(12 + offsetBytes / 2, value.length, true);
  scalar.set(value, 12 + offsetBytes);
  return scalar;
}
