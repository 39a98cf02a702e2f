/** Binary searches: in ascending numbers, and for the first index that meets a condition. */

/** Ascending numbers. Four kinds of arrays at most: for more, engines do not specialise a search. */
export type SortedNumbers = Uint32Array | Float64Array | Int32Array | Uint16Array;

/** Index of the first number, from `start` up to `end`, that is at least `value`; `end` if all are less. */
export function lowerBound(numbers: SortedNumbers, value: number, start = 0, end = numbers.length): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first number, from `start` up to `end`, that is greater than `value`; `end` if none is. */
export function upperBound(numbers: SortedNumbers, value: number, start = 0, end = numbers.length): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** First index, from `start` up to `end`, that meets a condition which all later ones meet; else `end`. */
export function firstIndex(start: number, end: number, isMet: (index: number) => boolean): number {
  let low = start;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isMet(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
