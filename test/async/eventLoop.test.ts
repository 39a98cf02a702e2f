import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { yieldToEventLoop } from "../../src/async/eventLoop.js";

function work(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

it("any amount of long work leaves most turns of the loop to others", async () => {
  let isWorking = true;
  /** Turn in which each piece of work ran. */
  const pieces: number[] = [];
  let turns = 0;
  const count = async () => {
    for (; isWorking; turns++) await nextTurn();
  };
  const workLong = async () => {
    for (let piece = 0; piece < 4; piece++) {
      await yieldToEventLoop();
      work(10);
      pieces.push(turns);
    }
  };
  const counting = count();
  await Promise.all(Array.from({ length: 5 }, workLong));
  isWorking = false;
  await counting;
  const rests = pieces.slice(1).map((turn, index) => turn - pieces[index]);
  expect(pieces).toHaveLength(20);
  // Each piece alone holds the thread for longer than all pieces together may in one turn.
  for (const rest of rests) expect(rest).toBeGreaterThanOrEqual(16);
});

it("short work continues in the same turn", async () => {
  // The hold of earlier work is over.
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  let turns = 0;
  setImmediate(() => turns++);
  for (let step = 0; step < 100; step++) await yieldToEventLoop();
  expect(turns).toBe(0);
});
