/** Options of a client that are refused. */

import { connectRest, InvalidInputError } from "tiltyard/client";
import { describe, expect, it } from "../support/fixtures.js";

const SECRET = "hunter2hunter2";

describe("options of a client", () => {
  it.each([
    ["no options", undefined],
    ["an unknown option", { uri: "http://x", timeout: 7 }],
    ["no address", {}],
    ["a path", { uri: "/data" }],
    ["another scheme", { uri: "ftp://x" }],
    ["a password", { uri: `https://user:${SECRET}@x` }],
    ["a broken address with a password", { uri: `https://user:${SECRET}@[x` }],
    ["a query", { uri: `https://x?key=${SECRET}` }],
    ["a header that is no text", { uri: "http://x", headers: { a: 1 } }],
    ["a header with a line end", { uri: "http://x", headers: { a: `${SECRET}\nb: c` } }],
    ["a header with another name", { uri: "http://x", headers: { "a b": SECRET } }],
    ["a list of headers", { uri: "http://x", headers: [["a", SECRET]] }],
    ["a negative wait", { uri: "http://x", retry: { delayMs: -1 } }],
    ["a fraction", { uri: "http://x", timeoutMs: 0.5 }],
    ["an unknown option of retries", { uri: "http://x", retry: { count: 1 } }],
    ["an empty delimiter", { uri: "http://x", delimiter: "" }],
    ["a fetch that is no function", { uri: "http://x", fetch: 7 }],
  ])("%s is refused, without what may be secret", (_, options) => {
    const connect = () => connectRest(options as never);
    expect(connect).toThrow(InvalidInputError);
    try {
      connect();
    } catch (error) {
      expect(String((error as Error).stack)).not.toContain(SECRET);
    }
  });

  it("headers of a function are asked for before each attempt", async () => {
    const seen: (string | null)[] = [];
    let count = 0;
    const ns = connectRest({
      uri: "http://x/base/",
      headers: async () => ({ "x-request": String(++count) }),
      retry: { delayMs: 1 },
      fetch: async (url, init) => {
        expect(url).toBe("http://x/base/v1/table");
        seen.push(new Headers(init.headers).get("x-request"));
        return seen.length < 3 ? new Response(null, { status: 503 }) : Response.json({ tables: [] });
      },
    });
    await ns.listAllTables();
    expect(seen).toEqual(["1", "2", "3"]);
  });

  it("headers of a function that cannot be sent fail the call", async () => {
    const ns = connectRest({ uri: "http://x", headers: () => ({ a: `${SECRET}\nb` }) });
    const error: Error = await ns.listTables().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).not.toContain(SECRET);
  });

  it("the identity of a request replaces the credentials of the options", async () => {
    const seen: Headers[] = [];
    const ns = connectRest({
      uri: "http://x",
      headers: { "x-api-key": "first", authorization: "Bearer first" },
      fetch: async (_, init) => {
        seen.push(new Headers(init.headers));
        return Response.json({ tables: [] });
      },
    });
    await ns.listTables({ identity: { apiKey: "second", authToken: "third" }, context: { tenant: "a" } });
    expect(seen[0].get("x-api-key")).toBe("second");
    expect(seen[0].get("authorization")).toBe("Bearer third");
    expect(seen[0].get("x-lance-ctx-tenant")).toBe("a");
  });

  it("a closed client refuses calls", async () => {
    const ns = connectRest({ uri: "http://x" });
    await ns.close();
    await expect(ns.listTables()).rejects.toThrow("the namespace is closed");
  });
});
