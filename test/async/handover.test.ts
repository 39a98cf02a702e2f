import { expect, it } from "vitest";
import { Handover } from "../../src/async/handover.js";

it("a handover passes all items in order, each after the consumer has finished with the one before", async () => {
  const handover = new Handover<number>();
  const steps: string[] = [];
  const take = async () => {
    for await (const item of handover) {
      await Promise.resolve();
      steps.push(`took ${item}`);
    }
    steps.push("ended");
  };
  const taken = take();
  for (let item = 0; item < 3; item++) {
    await handover.put(item);
    steps.push(`gave ${item}`);
  }
  handover.end();
  await taken;
  expect(steps).toEqual(["took 0", "gave 0", "took 1", "gave 1", "took 2", "gave 2", "ended"]);
});

it("the consumer learns of a failure, and the producer of an early end", async () => {
  const failing = new Handover<number>();
  const taken = (async () => {
    for await (const item of failing) expect(item).toBe(1);
  })();
  await failing.put(1);
  failing.fail(new RangeError("no more"));
  await expect(taken).rejects.toThrow("no more");
  await expect(failing.put(2)).rejects.toThrow("no more");

  const leaving = new Handover<number>();
  const left = (async () => {
    for await (const item of leaving) if (item === 1) return item;
    return null;
  })();
  await expect(leaving.put(1)).rejects.toThrow("takes no more items");
  expect(await left).toBe(1);
});
