/** Requests with unchecked credentials take no slots of authenticated callers. */

import { createRestHandler } from "tiltyard/rest";
import { expect, it } from "../../support/fixtures.js";

const LIMITS = { maxInFlight: 16, maxUnauthenticated: 4 };

it("hanging credential checks leave slots for callers with quick checks", async ({ ns }) => {
  await ns.createTable({ id: ["t"] }, [{ id: 1 }]);
  const letGo: (() => void)[] = [];
  const hang = () => new Promise<null>((resolve) => letGo.push(() => resolve(null)));
  const handler = createRestHandler(ns, {
    limits: LIMITS,
    allowedHosts: ["*"],
    auth: {
      bearer: hang,
      apiKeys: async (key) => (key === "k" ? { subject: "ada", method: "apiKey" } : hang()),
    },
  });
  const ask = (headers: Record<string, string>) =>
    handler(
      new Request("http://localhost/v1/table/t/count_rows", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: "{}",
      }),
    );
  const flood = Array.from({ length: 40 }, (_, index) =>
    ask(index % 2 === 0 ? { authorization: `Bearer ${index}` } : { "x-api-key": `forged ${index}` }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  const proven = await ask({ "x-api-key": "k" });
  expect(proven.status).toBe(200);
  const late = Promise.all(flood);
  for (let wait = letGo.splice(0); wait.length > 0; wait = letGo.splice(0)) {
    expect(handler.counters.inFlight).toBeLessThanOrEqual(LIMITS.maxInFlight);
    for (const go of wait) go();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const statuses = (await late).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([401, 503]));
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(
    LIMITS.maxUnauthenticated + 6,
  );
  expect((await ask({ "x-api-key": "k" })).status).toBe(200);
});
