/** Joins arrays of 32-bit numbers, back to back, into a new one. */
export const concatWords = (parts: readonly Uint32Array[]): Uint32Array => concatInto(Uint32Array, parts);

/** {@link concatWords} for signed numbers. */
export const concatSignedWords = (parts: readonly Int32Array[]): Int32Array => concatInto(Int32Array, parts);

function concatInto<Words extends Uint32Array | Int32Array>(
  make: new (length: number) => Words,
  parts: readonly Words[],
): Words {
  const words = new make(parts.reduce((sum, part) => sum + part.length, 0));
  let position = 0;
  for (const part of parts) {
    words.set(part, position);
    position += part.length;
  }
  return words;
}
