/** Checks that outcomes which no order explains are detected. */

import { expect, it } from "vitest";
import { type ChangeKind, contradictions, type TaggedChange } from "./serialOrder.js";

const change = (tag: string, kind: ChangeKind, ...ids: number[]): TaggedChange => ({ tag, kind, ids });
const row = (id: number, ...trail: string[]) => ({ id, trail });
const first = change("first", "append", 1, 2);

it.each<[string, TaggedChange[], ReturnType<typeof row>[], boolean]>([
  ["nothing was done", [], [row(1, "first"), row(2, "first")], true],
  ["an update is lost", [change("u", "update", 1)], [row(1, "first"), row(2, "first")], false],
  ["an update was made", [change("u", "update", 1)], [row(1, "first", "u"), row(2, "first")], true],
  [
    "an update was made in part",
    [change("u", "update", 1, 2)],
    [row(1, "first", "u"), row(2, "first")],
    false,
  ],
  [
    "an update was made twice",
    [change("u", "update", 1)],
    [row(1, "first", "u", "u"), row(2, "first")],
    false,
  ],
  ["a refused update was made", [], [row(1, "first", "u"), row(2, "first")], false],
  [
    "an update changed others",
    [change("u", "update", 1)],
    [row(1, "first", "u"), row(2, "first", "u")],
    false,
  ],
  ["a row is gone", [], [row(2, "first")], false],
  ["a row was deleted", [change("d", "delete", 1)], [row(2, "first")], true],
  ["a deletion is lost", [change("d", "delete", 1)], [row(1, "first"), row(2, "first")], false],
  [
    "an update came before an append of a row that it is about",
    [change("u", "update", 1, 3), change("a", "append", 3)],
    [row(1, "first", "u"), row(2, "first"), row(3, "a")],
    true,
  ],
  [
    "two updates came one before the other and the other before the one",
    [change("u", "update", 1, 2), change("v", "update", 1, 2)],
    [row(1, "first", "u", "v"), row(2, "first", "v", "u")],
    false,
  ],
  [
    "an upsert replaced a row",
    [change("m", "upsert", 1), change("u", "update", 1)],
    [row(1, "m", "u"), row(2, "first")],
    true,
  ],
  [
    "two upserts added the same row",
    [change("m", "upsert", 3), change("n", "upsert", 3)],
    [row(1, "first"), row(2, "first"), row(3, "m"), row(3, "n")],
    false,
  ],
  [
    "two upserts added the same row, one of which need not see new rows",
    [change("m", "upsert", 3), { ...change("n", "upsert", 3), missesNewRows: true }],
    [row(1, "first"), row(2, "first"), row(3, "m"), row(3, "n")],
    true,
  ],
  [
    "an update that need not see new rows is lost on an old one",
    [{ ...change("u", "update", 1), missesNewRows: true }],
    [row(1, "first"), row(2, "first")],
    false,
  ],
  [
    "an append added a row after an upsert did",
    [change("m", "upsert", 3), change("a", "append", 3)],
    [row(1, "first"), row(2, "first"), row(3, "m"), row(3, "a")],
    true,
  ],
])("%s", (_, changes, rows, isSerial) => {
  const faults = contradictions([first, ...changes], "first", rows);
  expect(faults.length === 0, faults.join("\n")).toBe(isSerial);
});
