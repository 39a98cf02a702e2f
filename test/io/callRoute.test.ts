import { expect, test } from "vitest";
import { CallRoute } from "../../src/io/callRoute.js";

function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test("short calls run in line, the 65th on the pool", async () => {
  const route = new CallRoute();
  const routes: string[] = [];
  for (let i = 0; i < 65; i++) {
    routes.push(
      await route.run(
        () => "inline",
        (done) => done(null, "pool"),
      ),
    );
  }
  expect(routes[0]).toBe("inline");
  expect(routes).toContain("pool");
});

test("a slow call sends those that follow to the pool", async () => {
  const route = new CallRoute();
  await route.run(
    () => spin(20),
    (done) => done(null, undefined),
  );
  expect(
    await route.run(
      () => "inline",
      (done) => done(null, "pool"),
    ),
  ).toBe("pool");
});

test("failures of both forms reject", async () => {
  const route = new CallRoute();
  const fail = () =>
    route.run<void>(
      () => {
        spin(20);
        throw new Error("inline");
      },
      (done) => done(new Error("pool"), undefined),
    );
  await expect(fail()).rejects.toThrow("inline");
  await expect(fail()).rejects.toThrow("pool");
});
