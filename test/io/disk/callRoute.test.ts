import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallRoute } from "../../../src/io/disk/callRoute.js";

// The clock advances only by `spend`: on a busy host, any call could be slow.
let nowMs = 0;
beforeEach(() => {
  nowMs = 1000;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => vi.restoreAllMocks());

const spend = (milliseconds: number): void => void (nowMs += milliseconds);

/** Returns a route whose thread never waits for a processor. */
const undisturbedRoute = (): CallRoute => new CallRoute(() => ({ queuedMs: 0 }));

/** Returns the form of the call after one of 5 ms; `onEnd` runs at the end of the first. */
async function routeAfterSlowCall(route: CallRoute, onEnd: () => void = () => undefined): Promise<string> {
  await route.run(
    () => {
      spend(5);
      onEnd();
    },
    (done) => done(null, undefined),
  );
  return route.run(
    () => "inline",
    (done) => done(null, "pool"),
  );
}

test("short calls run in line, and the event loop turns before the 65th", async () => {
  const route = undisturbedRoute();
  const events: string[] = [];
  setImmediate(() => events.push("turn"));
  for (let i = 0; i < 130; i++) {
    if (i === 66) setImmediate(() => events.push("turn"));
    await route.run(
      () => events.push("inline"),
      (done) => done(null, events.push("pool")),
    );
  }
  expect(events).not.toContain("pool");
  const turns = events.flatMap((event, index) => (event === "turn" ? index : []));
  expect(turns[0]).toBeLessThanOrEqual(64);
  expect(turns[1] - turns[0]).toBeLessThanOrEqual(66);
});

test("a slow call sends the following calls to the pool", async () => {
  const route = undisturbedRoute();
  await route.run(
    () => spend(20),
    (done) => done(null, undefined),
  );
  expect(
    await route.run(
      () => "inline",
      (done) => done(null, "pool"),
    ),
  ).toBe("pool");
});

test("work aside does not count as slow", async () => {
  const next = () =>
    route.run(
      () => "inline",
      (done) => done(null, "pool"),
    );
  const route = undisturbedRoute();
  await route.runTogether(
    () => route.aside(() => spend(20)),
    async () => undefined,
  );
  expect(await next()).toBe("inline");
  // Nor does it hide calls that are slow.
  await route.runTogether(
    () => {
      route.aside(() => spend(1));
      spend(20);
    },
    async () => undefined,
  );
  expect(await next()).toBe("pool");
});

test.each([
  ["nothing was used meanwhile: another process ran", { waits: 0, computedUs: 100 }, "inline"],
  ["it waited", { waits: 1, computedUs: 100 }, "pool"],
  ["it computed", { waits: 0, computedUs: 10_000 }, "pool"],
] as const)("a call of some milliseconds sends the next to the pool if it was slow: %s", async (_, {
  waits,
  computedUs,
}, expected) => {
  let after = false;
  const route = new CallRoute(() => ({
    voluntaryContextSwitches: 7 + (after ? waits : 0),
    userCPUTime: 0,
    systemCPUTime: after ? computedUs : 0,
  }));
  expect(await routeAfterSlowCall(route, () => (after = true))).toBe(expected);
});

test.each([
  ["all of it in the queue for a processor", 1000, "inline"],
  ["some of it in the queue for a processor", 1, "pool"],
] as const)("a call of some milliseconds sends the next to the pool if it was not only queued: %s", async (_, queuedMs, expected) => {
  let after = false;
  const route = new CallRoute(() => ({ queuedMs: 1000 + (after ? queuedMs : 0) }));
  expect(await routeAfterSlowCall(route, () => (after = true))).toBe(expected);
});

test("a platform that counts no waits counts every long call as slow", async () => {
  const route = new CallRoute(() => ({ voluntaryContextSwitches: 0, userCPUTime: 0, systemCPUTime: 0 }));
  expect(await routeAfterSlowCall(route)).toBe("pool");
});

test("the used resources are seldom read while no call is slow", async () => {
  let readings = 0;
  const route = new CallRoute(() => {
    readings++;
    return { voluntaryContextSwitches: 7, userCPUTime: 0, systemCPUTime: 0 };
  });
  const readingsOf = async (calls: number, callMs: number): Promise<number> => {
    readings = 0;
    for (let call = 0; call < calls; call++, nowMs += 2) {
      await route.run(
        () => void (nowMs += callMs),
        (done) => done(null, undefined),
      );
    }
    return readings;
  };
  expect(await readingsOf(500, 0)).toBe(250);
  expect(await readingsOf(500, 0)).toBeLessThanOrEqual(51);
  await readingsOf(1, 1);
  expect(await readingsOf(100, 0)).toBe(50);
});

test("failures of both forms reject", async () => {
  const route = undisturbedRoute();
  const fail = () =>
    route.run<void>(
      () => {
        spend(20);
        throw new Error("inline");
      },
      (done) => done(new Error("pool"), undefined),
    );
  await expect(fail()).rejects.toThrow("inline");
  await expect(fail()).rejects.toThrow("pool");
});

test("many fast calls finish synchronously", () => {
  const made: number[] = [];
  const pooled = async (index: number) => void made.push(-index);
  expect(
    undisturbedRoute().runMany(new Float64Array(5), (index) => made.push(index), pooled),
  ).toBeUndefined();
  expect(made).toEqual([0, 1, 2, 3, 4]);
});

test("many calls run in line, each once, and the event loop turns meanwhile", async () => {
  const route = undisturbedRoute();
  const lengths = new Float64Array(400).fill(8);
  const made = new Uint32Array(lengths.length);
  let turned = false;
  setImmediate(() => (turned = true));
  await route.runMany(
    lengths,
    (index) => {
      spend(0.03);
      made[index]++;
    },
    async (index) => {
      await new Promise((resolve) => setImmediate(resolve));
      made[index]++;
    },
  );
  expect(made.every((count) => count === 1)).toBe(true);
  expect(turned).toBe(true);
});

test("many waiting calls run on the pool, several at once", async () => {
  const route = undisturbedRoute();
  const lengths = new Float64Array(500).fill(8);
  let inline = 0;
  let underWay = 0;
  let most = 0;
  await route.runMany(
    lengths,
    () => {
      inline++;
      spend(0.2);
    },
    async () => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay--;
    },
  );
  expect(inline).toBeLessThan(20);
  expect(most).toBeGreaterThan(8);
});

test("many calls continue in line if one only lost the processor", async () => {
  const route = new CallRoute(() => ({ voluntaryContextSwitches: 7, userCPUTime: 0, systemCPUTime: 0 }));
  let inline = 0;
  let pooled = 0;
  await route.runMany(
    new Float64Array(3).fill(8),
    () => spend(inline++ === 0 ? 5 : 0),
    async () => void pooled++,
  );
  expect({ inline, pooled }).toEqual({ inline: 3, pooled: 0 });
  const next = await route.run(
    () => "inline",
    (done) => done(null, "pool"),
  );
  expect(next).toBe("inline");
});

test("a failure among many calls rejects once no call runs", async () => {
  const lengths = new Float64Array(50).fill(8);
  const failing = () =>
    undisturbedRoute().runMany(
      lengths,
      () => {
        throw new Error("inline");
      },
      async () => undefined,
    );
  expect(failing).toThrow("inline");
  let underWay = 0;
  const pooled = undisturbedRoute().runMany(
    lengths,
    () => spend(1),
    async (index) => {
      underWay++;
      await new Promise((resolve) => setImmediate(resolve));
      underWay--;
      if (index === 3) throw new Error("pool");
    },
  );
  await expect(pooled).rejects.toThrow("pool");
  expect(underWay).toBe(0);
});
