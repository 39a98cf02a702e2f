/** What a seed draws, one thing after the other. */

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

  /** From 0 to `max`. */
  number(max: number): number {
    return this.next(fc.nat(max));
  }

  /** One of several. */
  of<T>(choices: readonly T[]): T {
    return choices[this.number(choices.length - 1)];
  }
}
