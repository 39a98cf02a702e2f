import { expect, test } from "vitest";
import { openThreadQueue } from "../../../src/io/disk/threadQueue.js";

test("the time in the queue for a processor never shrinks, if the platform reports it", () => {
  const read = openThreadQueue();
  if (read === null) return;
  const first = read();
  const second = read();
  expect(first).toBeGreaterThanOrEqual(0);
  expect(second).toBeGreaterThanOrEqual(first as number);
});
