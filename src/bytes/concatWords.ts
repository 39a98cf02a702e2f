/** Joins arrays of numbers, one after the other. Pure. */
export const concatWords = (parts: readonly Uint32Array[]): Uint32Array => concatInto(Uint32Array, parts);

/** As {@link concatWords}, of numbers with a sign. */
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
