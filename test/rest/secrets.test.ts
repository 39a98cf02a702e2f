/** Answers contain no secrets, and paths, the order of checks and keys of objects have no effect. */

import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler, type RestHandlerOptions } from "tiltyard/rest";
import { problemOf, Refusal } from "../../src/rest/wire/problem.js";
import { openContract, rowsOf } from "../support/contract.js";
import { afterAll, beforeAll, describe, expect, it } from "../support/fixtures.js";
import { post, startRestServer } from "../support/restServer.js";
import { makeTempDir } from "../support/tempDir.js";

describe("paths of the server", () => {
  it("answers do not contain the path of the root, plain or with links resolved", async ({ root }) => {
    const [real, link] = [join(root, "real tables"), join(root, "link")];
    await mkdir(real);
    // On Windows, only junctions need no privilege.
    await symlink(real, link, "junction");
    await using namespace = new DirectoryNamespace({ root: link, durability: "none" });
    await namespace.createTable({ id: ["t"] }, rowsOf(1));
    const server = await startRestServer(namespace);
    const { json } = await post(server, "/v1/table/t/version/describe", {});
    const staged = join(json.version.manifest_path, "..", "staged");
    await writeFile(staged, "this is no manifest");
    const body = { version: 2, manifest_path: staged };
    const refused = await post(server, "/v1/table/t/version/create", body);
    expect(refused).toMatchObject({
      status: 400,
      json: { code: 13, detail: expect.stringMatching(/manifest/) },
    });
    const told = JSON.stringify(refused.json);
    for (const secret of [root, real, link, "real tables", encodeURI(real)]) {
      expect(told, secret).not.toContain(secret);
    }
    await server[Symbol.asyncDispose]();
  });

  it("answers do not contain the path in the form of URLs, JSON or Windows", () => {
    const roots = ["/srv/my tables/ü", "/private/srv/my tables/ü", "C:\\Data\\my tables", "/"];
    const told = (text: string) =>
      problemOf(new Refusal(400, "InvalidInput", text), {
        ...{ instance: "/", roots, inTheirWords: (words: string) => words },
      }).detail;
    for (const [text, wanted] of [
      ["at /srv/my tables/ü/t.lance", "at t.lance"],
      ["at /private/srv/my tables/ü/t.lance", "at t.lance"],
      ["at /private/srv/my tables/ü", "at ."],
      ["at file:///srv/my%20tables/%C3%BC/t.lance", "at file://t.lance"],
      ["at %2Fsrv%2Fmy%20tables%2F%C3%BC%2Ft.lance", "at t.lance"],
      ["at C:\\Data\\my tables\\t.lance", "at t.lance"],
      ["at C:/Data/my tables/t.lance", "at t.lance"],
      ["at C:/Data/my%20tables/t.lance", "at t.lance"],
      [`at ${JSON.stringify("C:\\Data\\my tables\\t.lance")}`, 'at "t.lance"'],
      ["a/b of application/json", "a/b of application/json"],
    ]) {
      expect(told(text)).toBe(wanted);
    }
  });
});

describe("a caller without permission", () => {
  let namespace: DirectoryNamespace;
  beforeAll(async () => {
    namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  });
  afterAll(() => namespace.close());

  const BAD = ["{", '{"id": 1, "__proto__": 2}', `${"[".repeat(100)}${"]".repeat(100)}`];
  const LONG = "x".repeat(2000);
  const ask = (
    auth: RestHandlerOptions["auth"],
    headers: Readonly<Record<string, string>>,
    body: BodyInit,
  ) => {
    const handler = createRestHandler(namespace, { auth: auth ?? {}, limits: { maxJsonBytes: 1000 } });
    const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body };
    const request = new Request("http://localhost/v1/table/t/exists", {
      ...init,
      duplex: "half",
    } as RequestInit);
    return handler(request);
  };

  it("the caller does not learn about mistakes in a body, whatever its headers", async () => {
    const credentials: Readonly<Record<string, string>>[] = [
      { "x-api-key": "wrong" },
      { authorization: "Bearer wrong" },
      { authorization: "Basic d3Jvbmc6d3Jvbmc=" },
      { "x-api-key": "wrong", authorization: "Bearer wrong" },
      {},
    ];
    for (const auth of [{ apiKeys: ["right"] }, { bearer: () => null }, {}]) {
      for (const headers of credentials) {
        for (const body of BAD) expect((await ask(auth, headers, body)).status).toBe(401);
        expect((await ask(auth, { ...headers, "content-type": "text/plain" }, "{}")).status).toBe(401);
        // A body that is too long to read may have identified the caller.
        expect([401, 413]).toContain((await ask(auth, headers, LONG)).status);
      }
    }
    for (const body of [...BAD, LONG]) {
      const { status } = await ask({ apiKeys: ["right"] }, { "x-api-key": "right" }, body);
      expect([400, 413]).toContain(status);
      expect([400, 413]).toContain((await ask({ anonymous: true }, {}, body)).status);
    }
  });

  it("the body of a caller that headers identify is not read", async () => {
    for (const [name, value] of [
      ["x-api-key", "wrong"],
      ["authorization", "Bearer wrong"],
    ]) {
      let pulled = 0;
      const body = new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 });
      const auth = { apiKeys: ["right"], bearer: () => null };
      expect((await ask(auth, { [name]: value }, body)).status).toBe(401);
      expect(pulled).toBe(0);
    }
  });
});

describe("keys of a context", () => {
  it("keys may have the names of built-in object members, except one that is refused", async () => {
    await using wire = await openContract();
    const table = await wire.table();
    const path = `/v1/table/${table}/exists`;
    for (const prefix of ["x-lance-ctx-", "x-ns-ctx-"]) {
      for (const body of [undefined, { context: { other: "1" } }]) {
        const refused = await wire.post(path, body, { [`${prefix}__proto__`]: "x" });
        expect(refused).toMatchObject({
          status: 400,
          json: { code: 13, detail: `${prefix}__proto__: is not allowed as the name of a member` },
        });
      }
      wire.calls.length = 0;
      const names = ["constructor", "tostring", "hasownproperty", "__definegetter__"];
      const headers = Object.fromEntries(names.map((name) => [`${prefix}${name}`, "x"]));
      expect((await wire.post(path, { context: { other: "1" } }, headers)).status).toBe(200);
      const context = wire.calls[0].context ?? {};
      expect(Object.getPrototypeOf(context)).toBe(Object.prototype);
      expect(Object.entries(context).sort()).toEqual(
        [...names, "other"].map((n) => [n, n === "other" ? "1" : "x"]).sort(),
      );
    }
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});
