/**
 * What a case may end in: what some serial order of the acknowledged operations ends in, in which each of them succeeds
 * with the same answer. What was refused has had no effect.
 */

import { isDeepStrictEqual } from "node:util";
import type { Content, State } from "./world.js";

/** One operation of a case, or one step of a rival. */
export type Outcome = { readonly ok: unknown } | { readonly error: unknown };

/** The acknowledged answers of a case, or of a serial order of its operations, and where it has led. */
export interface Ending {
  /** Undefined where the operation was refused. */
  readonly victim: Answer | undefined;
  /** Of a rival's steps, in their order. */
  readonly rival: readonly (Answer | undefined)[];
  readonly state: State;
}

/** What an operation says of its effect. */
export interface Answer {
  readonly version?: number;
  readonly numInsertedRows?: number;
  readonly deletedCount?: number;
}

export function answerOf(outcome: Outcome): Answer | undefined {
  if ("error" in outcome) return undefined;
  const answer = { ...(outcome.ok as object) } as Omit<Answer, "version"> & {
    readonly version?: number | { readonly version: number };
  };
  const { version, numInsertedRows, deletedCount } = answer;
  return { version: typeof version === "object" ? version.version : version, numInsertedRows, deletedCount };
}

/** Runs the acknowledged operations one after the other, the victim's behind so many of the rival's steps. */
export type RunSerially = (
  acknowledged: readonly boolean[],
  victimAt: number | null,
) => Promise<Ending | null>;

/** The serial orders of one operation and one rival; each is run at most once. */
export class SerialOrders {
  readonly #run: RunSerially;
  readonly #known = new Map<string, Promise<Ending | null>>();

  /** @param run null where an operation that is to be acknowledged is refused */
  constructor(run: RunSerially) {
    this.#run = run;
  }

  /**
   * Null where an order leads to the same.
   * @param isLoose only the latest versions are compared: one of the operations makes several, among which others come
   * @returns the endings that would have been right
   */
  async mismatch(ending: Ending, isLoose: boolean): Promise<Ending[] | null> {
    const acknowledged = ending.rival.map((answer) => answer !== undefined);
    const count = acknowledged.filter((each) => each).length;
    const positions =
      ending.victim === undefined ? [null] : Array.from({ length: count + 1 }, (_, index) => count - index);
    const endings: Ending[] = [];
    for (const position of positions) {
      const key = JSON.stringify([acknowledged, position]);
      let known = this.#known.get(key);
      if (known === undefined) this.#known.set(key, (known = this.#run(acknowledged, position)));
      const serial = await known;
      if (serial === null) continue;
      if (isDeepStrictEqual(comparable(ending, isLoose), comparable(serial, isLoose))) return null;
      endings.push(serial);
    }
    return endings;
  }
}

/** What has to be equal. */
function comparable({ victim, rival, state }: Ending, isLoose: boolean): unknown {
  if (!isLoose) return { victim, rival, state };
  const tables = Object.entries(state.tables).map(([id, { branches, tags }]) => [
    id,
    tags,
    Object.entries(branches).map(([branch, history]) => [branch, latestOf(history)]),
  ]);
  return { ...state, tables };
}

export function latestOf(history: Readonly<Record<string, Content>>): Content | null {
  const versions = Object.keys(history).map(Number);
  return versions.length === 0 ? null : history[Math.max(...versions)];
}
