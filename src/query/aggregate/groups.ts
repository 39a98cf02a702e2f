/**
 * Groups of rows with equal keys. Each key has a number per distinct value. Two keys are joined by a number
 * per pair of these numbers, and so on, so that any number of keys of any type end in one number per row.
 */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import type { ValueType } from "../../expression/values/types.js";
import { DistinctValues } from "./distinctValues.js";
import { type KeyWords, MISSING, WordTable } from "./wordTable.js";

export class Groups {
  readonly #values: readonly DistinctValues[];
  /** Table `i` numbers the pairs of keys up to `i` with key `i + 1`. The last one numbers the groups. */
  readonly #pairs: readonly WordTable[];

  constructor(types: readonly ValueType[]) {
    this.#values = types.map((type) => new DistinctValues(type));
    this.#pairs = types.slice(1).map(() => new WordTable(true));
  }

  get count(): number {
    return (this.#pairs.at(-1) ?? this.#values[0]).count;
  }

  get byteLength(): number {
    return [...this.#values, ...this.#pairs].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /**
   * Returns the group of each row, numbered from 0 in the order of their first rows.
   * @param isFrozen true: rows of groups that did not come before have the number MISSING
   */
  *groupsOf(keys: readonly Column[], rowCount: number, isFrozen: boolean): Steps<Uint32Array> {
    let groups = yield* this.#values[0].numbersOf(keys[0], rowCount, isFrozen);
    for (const [index, pairs] of this.#pairs.entries()) {
      const numbers = yield* this.#values[index + 1].numbersOf(keys[index + 1], rowCount, isFrozen);
      const skipped = isFrozen ? missingRows(groups, numbers) : null;
      const joined = skipped === null ? new Uint32Array(rowCount) : new Uint32Array(rowCount).fill(MISSING);
      const words = { low: signed(groups), high: signed(numbers) };
      yield* pairs.find(words, rowCount, { numbers: joined, isFrozen, skipped });
      groups = joined;
    }
    return groups;
  }

  /** Returns a reader of the keys of groups `start` to `end`, exclusive. */
  *reader(): Steps<(start: number, end: number) => Column[]> {
    const readers: ((numbers: Uint32Array) => Column)[] = [];
    for (const values of this.#values) readers.push(yield* values.reader());
    const pairs: KeyWords[] = [];
    for (const table of this.#pairs) pairs.push(yield* table.keys());
    return (start, end) => {
      const columns: Column[] = [];
      let numbers = numbered(start, end);
      for (let index = pairs.length - 1; index >= 0; index--) {
        const { low, high } = pairs[index];
        columns.unshift(readers[index + 1](picked(high as Int32Array, numbers)));
        numbers = picked(low, numbers);
      }
      columns.unshift(readers[0](numbers));
      return columns;
    };
  }
}

const signed = (numbers: Uint32Array): Int32Array =>
  new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length);

function numbered(start: number, end: number): Uint32Array {
  const numbers = new Uint32Array(end - start);
  for (let index = 0; index < numbers.length; index++) numbers[index] = start + index;
  return numbers;
}

function picked(values: Int32Array, numbers: Uint32Array): Uint32Array {
  const some = new Uint32Array(numbers.length);
  for (let index = 0; index < numbers.length; index++) some[index] = values[numbers[index]];
  return some;
}

/** Returns 1 for each row with a key that did not come before; null if there are none. */
function missingRows(groups: Uint32Array, numbers: Uint32Array): Uint8Array | null {
  let missing: Uint8Array | null = null;
  for (let row = 0; row < groups.length; row++) {
    if (groups[row] !== MISSING && numbers[row] !== MISSING) continue;
    missing ??= new Uint8Array(groups.length);
    missing[row] = 1;
  }
  return missing;
}
