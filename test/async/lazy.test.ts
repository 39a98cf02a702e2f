import { expect, it } from "vitest";
import { lazy } from "../../src/async/lazy.js";

it("a lazy value is made once, when it is first asked for, and kept", async () => {
  let made = 0;
  const thing = lazy(async () => ({ number: ++made }));
  expect([thing.current, thing.started, made]).toEqual([undefined, undefined, 0]);
  const [first, second] = await Promise.all([thing.get(), thing.get()]);
  expect(first).toBe(second);
  expect(thing.current).toBe(first);
  expect(await thing.get()).toBe(first);
  expect(made).toBe(1);
});

it("a lazy value exposes its promise while it is made", async () => {
  let finish = (_made: object): void => {};
  const thing = lazy(() => new Promise<object>((resolve) => (finish = resolve)));
  const asked = thing.get();
  expect(thing.started).toBe(asked);
  expect(thing.current).toBe(undefined);
  finish({});
  expect(await thing.started).toBe(await asked);
});

it("a lazy value is made again after a failure", async () => {
  let tries = 0;
  const thing = lazy(async () => {
    if (++tries === 1) throw new Error("no luck");
    return { tries };
  });
  await expect(Promise.all([thing.get(), thing.get()])).rejects.toThrow("no luck");
  expect(thing.started).toBe(undefined);
  expect(await thing.get()).toEqual({ tries: 2 });
});
