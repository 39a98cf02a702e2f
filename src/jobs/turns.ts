/** At most a fixed number of holders at a time; others wait in order, no longer than their signal lets them. */

import { whenAborted } from "../async/abort.js";

export class Turns {
  readonly #most: number;
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Resolves to a function that gives the turn to the next one. Rejects with the reason of a signal that aborts first. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#underWay < this.#most) this.#underWay++;
    else {
      await new Promise<void>((resolve, reject) => {
        const onTurn = () => {
          endWait();
          resolve();
        };
        this.#waiting.push(onTurn);
        const endWait = whenAborted(signal, () => {
          this.#waiting.splice(this.#waiting.indexOf(onTurn), 1);
          reject(signal.reason);
        });
      });
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next();
    };
  }
}
