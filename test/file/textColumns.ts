import type { VariableColumn } from "../../src/arrow/columns/column.js";

export function strings(texts: readonly (string | null)[]): VariableColumn {
  const encoded = texts.map((text) => Buffer.from(text ?? ""));
  const offsets = new Int32Array(texts.length + 1);
  encoded.forEach((bytes, index) => {
    offsets[index + 1] = offsets[index] + bytes.length;
  });
  const bits = new Uint8Array(Math.ceil(texts.length / 8));
  let nullCount = 0;
  texts.forEach((text, index) => {
    if (text === null) nullCount++;
    else bits[index >> 3] |= 1 << (index & 7);
  });
  const validity = nullCount === 0 ? null : { bytes: bits, bitOffset: 0, nullCount };
  return {
    kind: "variable",
    length: texts.length,
    validity,
    offsets,
    bytes: new Uint8Array(Buffer.concat(encoded)),
  };
}

export function textsOf(column: VariableColumn): (string | null)[] {
  return Array.from({ length: column.length }, (_, row) => {
    const { validity, offsets, bytes } = column;
    const bit = (validity?.bitOffset ?? 0) + row;
    if (validity !== null && ((validity.bytes[bit >> 3] >> (bit & 7)) & 1) === 0) return null;
    return Buffer.from(bytes.subarray(Number(offsets[row]), Number(offsets[row + 1]))).toString();
  });
}
