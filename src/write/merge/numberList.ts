/** A list of numbers below 2^32 that grows. */
export class NumberList {
  #numbers = new Uint32Array(16);
  length = 0;

  push(number: number): void {
    if (this.length === this.#numbers.length) {
      const grown = new Uint32Array(2 * this.length);
      grown.set(this.#numbers);
      this.#numbers = grown;
    }
    this.#numbers[this.length++] = number;
  }

  /** The numbers so far, over the list's own memory. */
  get numbers(): Uint32Array {
    return this.#numbers.subarray(0, this.length);
  }
}
