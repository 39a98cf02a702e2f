/** Handles on a tag of the reference: every method reads that version, and none changes the table. */

import { InvalidTableStateError } from "tiltyard";
import { expect } from "vitest";
import { it } from "../support/fixtures.js";
import { rowsOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";

it("a handle on a tag reads the tagged version and refuses writes", async ({ root, ns: namespace }) => {
  const id = ["t"];
  await namespace.createTable({ id }, rowsOf(1, 2));
  await namespace.insertIntoTable({ id }, rowsOf(3));
  await reference.createTag(root, "t", "first", 1);

  const tagged = namespace.table(id, { tag: "first" });
  expect(await tagged.exists()).toBe(true);
  expect(await tagged.version()).toBe(1);
  expect(await tagged.countRows()).toBe(2);
  expect((await tagged.stats()).numRows).toBe(2);
  await expect(tagged.insert(rowsOf(4))).rejects.toThrow(InvalidTableStateError);
  await expect(tagged.restore(1)).rejects.toThrow(InvalidTableStateError);
  expect(await namespace.table(id).version()).toBe(2);

  expect(await namespace.table(id, { tag: "second" }).exists()).toBe(false);
  expect(await namespace.table(id, { branch: "second" }).exists()).toBe(false);
});
