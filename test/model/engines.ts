/** Two engines on one directory, and the work in flight between two commands. */

import type fc from "fast-check";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import type { Model, ModelTarget, SavedTable } from "./model.js";
import type { SlowRows } from "./slowRows.js";

/** A write that waits for its rows. */
export interface SlowWrite {
  readonly name: string;
  readonly rows: SlowRows;
  /** "done", or the type of the error; pending until the rows arrive. */
  readonly outcome: Promise<string>;
  readonly what:
    | { readonly kind: "insert"; readonly values: readonly number[]; readonly target: ModelTarget }
    | { readonly kind: "create"; readonly values: readonly number[]; readonly id: readonly string[] };
}

export interface TableCopy {
  readonly id: readonly string[];
  readonly location: string;
  readonly directory: string;
  readonly saved: SavedTable;
}

export type Command = fc.AsyncCommand<Model, Engines>;

export const command = (name: string, run: Command["run"]): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

export class Engines {
  readonly root: string;
  readonly copiesRoot: string;
  readonly slow: SlowWrite[] = [];
  readonly copies: TableCopy[] = [];
  readonly #engines: DirectoryNamespace[] = [];

  constructor(root: string, copiesRoot: string) {
    this.root = root;
    this.copiesRoot = copiesRoot;
    this.#open();
  }

  #open(): void {
    for (const index of [0, 1]) {
      this.#engines[index] = new DirectoryNamespace({ root: this.root, durability: "none" });
    }
  }

  at(index: number): DirectoryNamespace {
    return this.#engines[index];
  }

  async reopen(): Promise<void> {
    await this.close();
    this.#open();
  }

  async close(): Promise<void> {
    for (const engine of this.#engines) await engine.close();
  }
}

export async function outcomeOfCall(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "done";
  } catch (error) {
    if (!(error instanceof NamespaceError)) throw error;
    return error.type;
  }
}
