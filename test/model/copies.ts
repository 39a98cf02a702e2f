/** Copies of tables' directories that are put back later, as from an archive or a snapshot. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { copyTree } from "../support/copyTree.js";
import { type Command, command } from "./engines.js";
import { stateOf } from "./observed.js";

export const takeCopy = (id: readonly string[]): Command =>
  command(`takeCopy(${id})`, async (model, engines) => {
    const saved = model.save(id);
    if (saved === null) return;
    const location = (await engines.at(0).describeTable({ id })).location as string;
    const directory = join(engines.copiesRoot, String(engines.copies.length));
    await copyTree(location, directory);
    engines.copies.push({ id, location, directory, saved });
  });

export const putBack = (id: readonly string[], lookingAt: number): Command =>
  command(`putBack(${id})`, async (model, engines) => {
    if (model.save(id) === null) return;
    const { location } = await engines.at(lookingAt).describeTable({ id });
    const copy = engines.copies.findLast(
      (each) => each.location === location && each.id.join("$") === id.join("$"),
    );
    if (copy === undefined) return;
    await rm(copy.location, { recursive: true });
    await copyTree(copy.directory, copy.location);
    model.putBack(id, copy.saved);
    for (const index of [lookingAt, 1 - lookingAt]) {
      expect(await stateOf(engines.at(index)), `putBack(${id}), seen by ${index}`).toEqual(model.state());
    }
  });
