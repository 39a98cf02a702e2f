/** Draws values in the order that a seed determines. */

import fc from "fast-check";

export class Drawing {
  readonly #seed: number;
  #drawn = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  next<T>(arbitrary: fc.Arbitrary<T>): T {
    return fc.sample(arbitrary, { seed: this.#seed + this.#drawn++, numRuns: 1 })[0];
  }

  /** Returns a number from 0 to `max`. */
  number(max: number): number {
    return this.next(fc.nat(max));
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.number(choices.length - 1)];
  }
}
