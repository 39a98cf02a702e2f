/** Ledgers of the changes of concurrent processes, any of which may be killed. */

import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";

/** A change in flight. It is acknowledged, or its process is killed; late acknowledgements are possible. */
export interface Entry {
  acknowledge(version: number): void;
  lose(): void;
}

/** State that only one process changes at a time: one of several candidates. */
export class Possible<State> {
  #states: readonly State[];
  #ended = 0;

  constructor(state: State) {
    this.#states = [state];
  }

  /** Returns the elements that every candidate has. */
  surely<T>(of: (state: State) => readonly T[]): T[] {
    const [first, ...others] = this.#states.map(of);
    return first.filter((each) => others.every((elements) => elements.includes(each)));
  }

  possibly<T>(of: (state: State) => T): T[] {
    return this.#states.map(of);
  }

  /** @param halfway state between the steps of a change */
  begin(change: (state: State) => State, halfway?: (state: State) => State): Entry {
    const before = this.#states;
    let ended: number | undefined;
    return {
      acknowledge: () => {
        // Later changes follow it.
        if (ended !== undefined && ended !== this.#ended) return;
        this.#states = before.map(change);
        this.#ended++;
      },
      lose: () => {
        this.#states = [...before, ...before.map(change), ...(halfway ? before.map(halfway) : [])];
        ended = ++this.#ended;
      },
    };
  }

  /** @param shown visible part of a state */
  verify<Shown>(seen: Shown, shown: (state: State) => Shown, where: string): void {
    expect(this.#states.map(shown), where).toContainEqual(seen);
    this.#states = this.#states.filter((state) => isDeepStrictEqual(shown(state), seen)).slice(0, 1);
  }
}

/** Values that many processes add to a table, and none removes. */
export class Additions {
  readonly #present = new Set<number>();
  readonly #lost = new Set<number>();
  readonly #versions = new Map<number, number>();

  begin(value: number): Entry {
    return {
      acknowledge: (version) => {
        expect(this.#versions.get(version), `version ${version} was acknowledged twice`).toBeUndefined();
        this.#versions.set(version, value);
        this.#lost.delete(value);
        this.#present.add(value);
      },
      lose: () => void this.#lost.add(value),
    };
  }

  get values(): number[] {
    return [...this.#present];
  }

  /** Records a value of a writer that reports no version. */
  note(value: number, isAcknowledged: boolean): void {
    (isAcknowledged ? this.#present : this.#lost).add(value);
  }

  verify(seen: readonly number[], where: string): void {
    for (const value of this.#lost) if (seen.includes(value)) this.#present.add(value);
    // Their processes are gone: missing values will not come.
    this.#lost.clear();
    const byNumber = (a: number, b: number) => a - b;
    expect([...seen].sort(byNumber), where).toEqual([...this.#present].sort(byNumber));
  }
}

/** Effect that made a version of a table. */
export type Effect = { readonly added: number } | { readonly restored: number };

/** A table that keeps all its versions, changed by many processes. */
export class History {
  readonly #rows: (readonly number[])[] = [[]];
  readonly #effects = new Map<number, Effect>();
  #lost: Effect[] = [];

  /** @param first rows of version 1 */
  constructor(first: readonly number[]) {
    this.#rows.push(first);
    this.#effects.set(1, { restored: 1 });
  }

  get versions(): number[] {
    return [...this.#effects.keys()];
  }

  rowsOf(version: number): readonly number[] {
    return this.#rows[version];
  }

  begin(effect: Effect): Entry {
    return {
      acknowledge: (version) => {
        expect(this.#effects.has(version), `version ${version} was acknowledged twice`).toBe(false);
        this.#lost = this.#lost.filter((lost) => lost !== effect);
        this.#effects.set(version, effect);
      },
      lose: () => void this.#lost.push(effect),
    };
  }

  async verify(latest: number, read: (version: number) => Promise<number[]>, where: string): Promise<void> {
    expect(Math.max(...this.#effects.keys()), where).toBeLessThanOrEqual(latest);
    for (let version = this.#rows.length; version <= latest; version++) {
      const seen = await read(version);
      const candidates = this.#effects.has(version) ? [this.#effects.get(version) as Effect] : this.#lost;
      const made = candidates.find((effect) => isSame(this.#after(effect, version), seen));
      expect(
        made,
        `${where}, version ${version} with rows ${seen} after ${this.#rows[version - 1]}`,
      ).toBeDefined();
      this.#lost = this.#lost.filter((lost) => lost !== made);
      this.#effects.set(version, made as Effect);
      this.#rows.push(seen);
    }
    this.#lost = [];
  }

  #after(effect: Effect, version: number): readonly number[] {
    return "added" in effect ? [...this.#rows[version - 1], effect.added] : this.#rows[effect.restored];
  }
}

const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);
