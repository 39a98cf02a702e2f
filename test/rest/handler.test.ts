import { InvalidInputError } from "tiltyard";
import { createRestHandler, type RestHandlerOptions } from "tiltyard/rest";
import { expect, it, sharedNamespace } from "../support/fixtures.js";

const namespace = sharedNamespace();

const handlerOf = (options: RestHandlerOptions) =>
  createRestHandler(namespace, { auth: { anonymous: true }, ...options });
const listing = (headers: Readonly<Record<string, string>> = {}) =>
  new Request("http://localhost/v1/namespace/$/list", { headers });

it("a failing log fails no request", async () => {
  const failing: RestHandlerOptions["log"][] = [
    () => {
      throw new Error("the log is full");
    },
    async () => {
      throw new Error("the log is full");
    },
  ];
  // An unhandled rejection would fail this test, and end a server.
  for (const log of failing) expect((await handlerOf({ log })(listing())).status).toBe(200);
  await new Promise((resolve) => setImmediate(resolve));
});

it("each request has an id, the client's own if it sent one", async () => {
  const handler = handlerOf({});
  const idOf = async (headers?: Readonly<Record<string, string>>) =>
    (await handler(listing(headers))).headers.get("x-request-id");
  expect(await idOf({ "x-request-id": "mine" })).toBe("mine");
  expect(await idOf({ "x-request-id": "x".repeat(1000) })).toBe("x".repeat(100));
  expect(await idOf({ "x-request-id": "" })).toMatch(/^[0-9a-f-]{36}$/);
  expect(await idOf()).toMatch(/^[0-9a-f-]{36}$/);
});

it("every call of close waits for the end of the last request", async () => {
  const handler = handlerOf({ limits: { bodyIdleMs: 60_000 } });
  let finish: (() => void) | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      finish = () => controller.close();
    },
  });
  const init = { method: "POST", body, duplex: "half" } as RequestInit;
  const answer = handler(new Request("http://localhost/v1/table/t/exists", init));
  await expect.poll(() => handler.counters.inFlight).toBe(1);
  const closed: number[] = [];
  const closings = [1, 2, 3].map((which) =>
    handler.close({ graceMs: 60_000 }).then(() => closed.push(which)),
  );
  expect((await handler(listing())).status).toBe(503);
  expect(closed).toEqual([]);
  finish?.();
  expect((await answer).status).toBe(404);
  await Promise.all(closings);
  expect(closed).toEqual([1, 2, 3]);
  await handler.close();
});

it("a base path may have any characters, in the form of URLs or not", async () => {
  for (const basePath of ["/lance", "/lance/", "/ä", "/%C3%A4", "/a/b~c"]) {
    const handler = handlerOf({ basePath });
    const request = (path: string) => handler(new Request(`http://localhost${path}/v1/namespace/$/list`));
    expect((await request(basePath.replace(/\/$/, ""))).status, basePath).toBe(200);
    expect((await request("")).status, basePath).toBe(404);
  }
});

it("the shortest grace period ends the requests of a closing handler", async () => {
  const handler = handlerOf({ limits: { bodyIdleMs: 60_000 } });
  const body = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => undefined) });
  const init = { method: "POST", body, duplex: "half" } as RequestInit;
  const answer = handler(new Request("http://localhost/v1/table/t/exists", init));
  await expect.poll(() => handler.counters.inFlight).toBe(1);
  await Promise.all([handler.close({ graceMs: 60_000 }), handler.close({ graceMs: 1 })]);
  expect((await answer).status).toBe(503);
});

it("the grace period may be any number of milliseconds", async () => {
  for (const graceMs of [-1, Number.NaN, "10" as unknown as number]) {
    const handler = handlerOf({});
    await expect(handler.close({ graceMs })).rejects.toThrow(InvalidInputError);
    expect((await handler(listing())).status).toBe(200);
  }
  const handler = handlerOf({});
  const answer = handler(listing());
  await handler.close({ graceMs: Number.POSITIVE_INFINITY });
  expect((await answer).status).toBe(200);
});
