/** Runs at most a fixed number of tasks of one kind at a time; later ones wait, in order. */
export class Limit {
  readonly #most: number;
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs the work when it is its turn. Rejects as the work does. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#underWay >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#underWay++;
    try {
      return await work();
    } finally {
      // The next task takes over the place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next();
    }
  }
}
