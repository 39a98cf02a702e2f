/** Order and equality of bytes: the first difference decides, and a prefix comes before longer bytes. */

/** Negative if `a` comes first, 0 if both are equal. */
export const compareBytes = (a: Uint8Array, b: Uint8Array): number =>
  compareRanges(a, 0, a.length, b, 0, b.length);

/** Compares ranges of two arrays as {@link compareBytes} does. */
export function compareRanges(
  a: Uint8Array,
  startA: number,
  endA: number,
  b: Uint8Array,
  startB: number,
  endB: number,
): number {
  let offset = startA;
  let bt = startB;
  while (offset < endA && bt < endB) {
    const difference = a[offset++] - b[bt++];
    if (difference !== 0) return difference;
  }
  return endA - offset - (endB - bt);
}
