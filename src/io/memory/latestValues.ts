/**
 * The values that were last computed for some objects. Queries make such objects by the thousand. In a
 * `WeakMap` that lives long, V8 keeps the value of each until a full garbage collection.
 */

const MOST_VALUES = 8;

export class LatestValues<Key extends object, Value> {
  readonly #keys: (Key | null)[] = new Array<Key | null>(MOST_VALUES).fill(null);
  readonly #values: (Value | undefined)[] = new Array<Value | undefined>(MOST_VALUES).fill(undefined);
  /** Index of the entry that the next new key replaces. */
  #next = 0;

  /** Returns the value of an object; undefined if newer ones have replaced it. */
  get(key: Key): Value | undefined {
    return this.#values[this.#keys.indexOf(key)];
  }

  set(key: Key, value: Value): void {
    let index = this.#keys.indexOf(key);
    if (index < 0) {
      index = this.#next;
      this.#next = (this.#next + 1) % MOST_VALUES;
    }
    this.#keys[index] = key;
    this.#values[index] = value;
  }
}
