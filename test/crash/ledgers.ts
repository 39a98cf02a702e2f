/**
 * What must be there of changes that many processes make at once, any of which may be killed: all that was
 * acknowledged, and of a change that was under way all or nothing.
 */

import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";

/** A change under way: it is acknowledged, or its process is killed; or that comes first, and its last words after. */
export interface Entry {
  acknowledge(version: number): void;
  lose(): void;
}

/** What only one process changes at a time: it is in one of several states. */
export class Possible<State> {
  #states: readonly State[];
  /** Changes that came to an end. */
  #ended = 0;

  constructor(state: State) {
    this.#states = [state];
  }

  /** What holds of it whichever state it is in. */
  surely<T>(of: (state: State) => readonly T[]): T[] {
    const [first, ...others] = this.#states.map(of);
    return first.filter((each) => others.every((other) => other.includes(each)));
  }

  /** What holds of it in any of its states. */
  possibly<T>(of: (state: State) => T): T[] {
    return this.#states.map(of);
  }

  /** @param halfway what is there between the steps of a change that takes several */
  begin(change: (state: State) => State, halfway?: (state: State) => State): Entry {
    const before = this.#states;
    let ended: number | undefined;
    return {
      acknowledge: () => {
        // What was done since then came after it.
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

  /** @param shown what of a state can be seen */
  settle<Shown>(seen: Shown, shown: (state: State) => Shown, where: string): void {
    expect(this.#states.map(shown), where).toContainEqual(seen);
    this.#states = this.#states.filter((state) => isDeepStrictEqual(shown(state), seen)).slice(0, 1);
  }
}

/** Values that are added to a table and never taken away, by many at once. */
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

  /** Those that are surely there. */
  get values(): number[] {
    return [...this.#present];
  }

  /** A value of a writer that tells no version. */
  note(value: number, isAcknowledged: boolean): void {
    (isAcknowledged ? this.#present : this.#lost).add(value);
  }

  settle(seen: readonly number[], where: string): void {
    for (const value of this.#lost) if (seen.includes(value)) this.#present.add(value);
    // Their processes are gone: what is not there will not come.
    this.#lost.clear();
    const byNumber = (a: number, b: number) => a - b;
    expect([...seen].sort(byNumber), where).toEqual([...this.#present].sort(byNumber));
  }
}

/** What a version of a table was made by. */
export type Effect = { readonly added: number } | { readonly restored: number };

/** A table all of whose versions stay, by many at once: each is what its effect makes of those before. */
export class History {
  readonly #rows: (readonly number[])[] = [[]];
  readonly #effects = new Map<number, Effect>();
  #lost: Effect[] = [];

  /** @param first rows of version 1 */
  constructor(first: readonly number[]) {
    this.#rows.push(first);
    this.#effects.set(1, { restored: 1 });
  }

  /** Versions that are there. */
  get versions(): number[] {
    return [...this.#effects.keys()];
  }

  /** Rows of a version that was settled. */
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

  async settle(latest: number, read: (version: number) => Promise<number[]>, where: string): Promise<void> {
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
