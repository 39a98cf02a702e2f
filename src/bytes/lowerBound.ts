/** Index of the first element, of those from `from` on, that is at least `value`; the length where there is none. */
export function lowerBound(sorted: Uint32Array, value: number, from = 0): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
