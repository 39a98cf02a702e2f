/**
 * Copies of tables' directories, taken at rest and put back later over the current ones, with all times: the
 * behaviour of an archive or a file system snapshot.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type fc from "fast-check";
import { expect } from "vitest";
import { copyTree } from "../support/copyTree.js";
import type { Engines } from "./engines.js";
import type { Model } from "./model.js";
import { stateOf } from "./observed.js";

type Command = fc.AsyncCommand<Model, Engines>;

export class TakeCopy implements Command {
  readonly #id: readonly string[];

  constructor(id: readonly string[]) {
    this.#id = id;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, engines: Engines): Promise<void> {
    const saved = model.save(this.#id);
    if (saved === null) return;
    const { location } = await engines.at(0).describeTable({ id: this.#id });
    const directory = join(engines.copiesRoot, String(engines.copies.length));
    await copyTree(location as string, directory);
    engines.copies.push({ id: this.#id, location: location as string, directory, saved });
  }

  toString(): string {
    return `takeCopy(${this.#id})`;
  }
}

/** Puts back the latest copy of a table that is still in its directory. */
export class PutBack implements Command {
  readonly #id: readonly string[];
  readonly #lookingAt: number;

  constructor(id: readonly string[], lookingAt: number) {
    this.#id = id;
    this.#lookingAt = lookingAt;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, engines: Engines): Promise<void> {
    if (model.save(this.#id) === null) return;
    const { location } = await engines.at(this.#lookingAt).describeTable({ id: this.#id });
    const copy = engines.copies.findLast(
      (each) => each.location === location && each.id.join("$") === this.#id.join("$"),
    );
    if (copy === undefined) return;
    await rm(copy.location, { recursive: true });
    await copyTree(copy.directory, copy.location);
    model.putBack(this.#id, copy.saved);
    for (const index of [this.#lookingAt, 1 - this.#lookingAt]) {
      expect(await stateOf(engines.at(index)), `${this.toString()}, seen by ${index}`).toEqual(model.state());
    }
  }

  toString(): string {
    return `putBack(${this.#id})`;
  }
}
