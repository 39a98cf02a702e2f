/** Joins arrays of numbers, one after the other. Pure. */
export function concatWords(parts: readonly Uint32Array[]): Uint32Array {
  const words = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    words.set(part, at);
    at += part.length;
  }
  return words;
}
