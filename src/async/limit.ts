/** So much work of one kind at a time, and no more; who comes later waits, in order. */
export class Limit {
  readonly #most: number;
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Does the work when it is its turn. Rejects as it does. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#underWay >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#underWay++;
    try {
      return await work();
    } finally {
      // Whoever is next takes the place over.
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next();
    }
  }
}
