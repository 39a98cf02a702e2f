/** Allowed results of a case: those of a serial order of the acknowledged operations, with equal answers. */

import { isDeepStrictEqual } from "node:util";
import type { Content, History, State } from "./world.js";

/** Outcome of one operation of a case, or of one step of a rival. */
export type Outcome = { readonly ok: unknown } | { readonly error: unknown };

/** Acknowledged answers of a case, or of a serial order, and the final state. */
export interface Ending {
  /** Undefined if the operation was refused. */
  readonly victim: Answer | undefined;
  /** Answers to a rival's steps, in order. */
  readonly rival: readonly (Answer | undefined)[];
  readonly state: State;
}

/** Answer of an operation about its effect. */
export interface Answer {
  readonly version?: number;
  readonly numInsertedRows?: number;
  readonly deletedCount?: number;
  readonly numDeletedRows?: number;
  readonly updatedRows?: number;
  readonly numUpdatedRows?: number;
}

export function answerOf(outcome: Outcome): Answer | undefined {
  if ("error" in outcome) return undefined;
  const answer = { ...(outcome.ok as object) } as Omit<Answer, "version"> & {
    readonly version?: number | { readonly version: number };
  };
  const { version, ...counts } = answer;
  const { numInsertedRows, deletedCount, numDeletedRows, updatedRows, numUpdatedRows } = counts;
  return {
    version: typeof version === "object" ? version.version : version,
    ...{ numInsertedRows, deletedCount, numDeletedRows, updatedRows, numUpdatedRows },
  };
}

/** Runs the acknowledged operations serially: the victim's after a number of the rival's steps. */
export type RunSerially = (
  acknowledged: readonly boolean[],
  victimAt: number | null,
) => Promise<Ending | null>;

/** Serial orders of one operation and one rival; each runs at most once. */
export class SerialOrders {
  readonly #run: RunSerially;
  readonly #endings = new Map<string, Promise<Ending | null>>();

  /** @param run resolves to null if an acknowledged operation is refused */
  constructor(run: RunSerially) {
    this.#run = run;
  }

  /** Returns null if a serial order has the same ending, else the endings that would have been right. */
  async mismatch(ending: Ending, looseness: Looseness): Promise<Ending[] | null> {
    const acknowledged = ending.rival.map((answer) => answer !== undefined);
    const count = acknowledged.filter((each) => each).length;
    const positions =
      ending.victim === undefined ? [null] : Array.from({ length: count + 1 }, (_, index) => count - index);
    const endings: Ending[] = [];
    for (const position of positions) {
      const key = JSON.stringify([acknowledged, position]);
      let serialEnding = this.#endings.get(key);
      if (serialEnding === undefined)
        this.#endings.set(key, (serialEnding = this.#run(acknowledged, position)));
      const serial = await serialEnding;
      if (serial === null) continue;
      if (isSame(ending, serial, looseness)) return null;
      endings.push(serial);
    }
    return endings;
  }
}

/**
 * Allowed differences from a serial ending:
 *
 * - "more": old versions may remain
 * - "latest": only the latest versions are compared
 */
export type Looseness = "none" | "more" | "latest";

function isSame(ending: Ending, serial: Ending, looseness: Looseness): boolean {
  const tables = Object.fromEntries(
    Object.entries(ending.state.tables).map(([id, table]) => {
      const branches = Object.entries(table.branches).map(([branch, history]) => [
        branch,
        looseness === "more" ? within(history, serial.state.tables[id]?.branches[branch]) : history,
      ]);
      return [id, { ...table, branches: Object.fromEntries(branches) }];
    }),
  );
  const loosened = { ...ending, state: { ...ending.state, tables } };
  if (looseness !== "latest") return isDeepStrictEqual(loosened, serial);
  return isDeepStrictEqual(ofLatest(loosened.state), ofLatest(serial.state));
}

/** Returns the versions that the second history has as well, and the latest. */
function within(history: History, otherHistory: History = {}): History {
  const latest = latestOf(history);
  return Object.fromEntries(
    Object.entries(history).filter(([version, content]) => version in otherHistory || content === latest),
  );
}

function ofLatest(state: State): unknown {
  const tables = Object.entries(state.tables).map(([id, { branches, tags }]) => [
    id,
    tags,
    Object.entries(branches).map(([branch, history]) => [branch, latestOf(history)]),
  ]);
  return { ...state, tables };
}

export function latestOf(history: History): Content | null {
  const versions = Object.keys(history).map(Number);
  return versions.length === 0 ? null : history[Math.max(...versions)];
}
