/** Joins byte arrays. */

/**
 * Copies all parts, back to back, into a new array.
 * @param byteLength length of all parts together, if the caller has computed it
 */
export function concatBytes(
  parts: readonly Uint8Array[],
  byteLength: number = parts.reduce((sum, part) => sum + part.length, 0),
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(byteLength);
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}
