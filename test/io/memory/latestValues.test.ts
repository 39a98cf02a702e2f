import { expect, test } from "vitest";
import { LatestValues } from "../../../src/io/memory/latestValues.js";

const keys = Array.from({ length: 12 }, (_, number) => ({ number }));

test("latest values are found by their objects until newer ones replace them", () => {
  const latest = new LatestValues<object, number>();
  expect(latest.get(keys[0])).toBeUndefined();
  for (const { number } of keys) latest.set(keys[number], number);
  const values = keys.map((key) => latest.get(key));
  expect(values).toEqual([...Array<undefined>(4).fill(undefined), 4, 5, 6, 7, 8, 9, 10, 11]);
});

test("a new value for an object replaces its old one and no other", () => {
  const latest = new LatestValues<object, string>();
  for (const key of keys.slice(0, 8)) latest.set(key, "old");
  latest.set(keys[3], "new");
  expect(keys.slice(0, 8).map((key) => latest.get(key))).toEqual([
    ...["old", "old", "old", "new"],
    ...["old", "old", "old", "old"],
  ]);
});
