/** Recognition of the client that sends a request. */

import { createRestHandler } from "tiltyard/rest";
import { afterAll, beforeAll, describe, expect, it, sharedNamespace } from "../../support/fixtures.js";

const namespace = sharedNamespace();
let handler: ReturnType<typeof createRestHandler>;
beforeAll(async () => {
  await namespace.declareTable({ id: ["t"] });
  handler = createRestHandler(namespace, { auth: { anonymous: true }, managedVersioning: true });
});
afterAll(async () => {
  await handler.close();
});

/** Only the remote client gets capabilities, and only others are told to commit through the server. */
async function dialectOf(headers: Record<string, string>, query = ""): Promise<string> {
  const answer = await handler(
    new Request(`http://localhost/v1/table/t/describe${query}`, { method: "POST", body: "{}", headers }),
  );
  const { managed_versioning: isManaged } = (await answer.json()) as { managed_versioning: boolean };
  const isRemote = answer.headers.has("phalanx-version");
  expect([answer.status, isManaged]).toEqual([200, !isRemote]);
  return isRemote ? "remote" : "interface";
}

describe("a request that names a database", () => {
  const database = { "content-type": "application/json", "x-lancedb-database": "db" };
  const numbered = { ...database, "x-request-id": "7" };

  it.each([
    ["LanceDB for Node", { ...numbered, "user-agent": "LanceDB-Node-Client/0.39.0" }, ""],
    ["LanceDB for Python", { ...numbered, "user-agent": "LanceDB-Python-Client/0.40.0" }, ""],
    ["LanceDB for Rust", { ...numbered, "user-agent": "LanceDB-Rust-Client/0.40.0" }, "?delimiter=."],
    ["a name, without a number", { ...database, "user-agent": "LanceDB-Node-Client/0.39.0" }, ""],
    ["another name", { ...numbered, "user-agent": "shop/1.0" }, ""],
    ["another name and delimiter", { ...numbered, "user-agent": "shop/1.0" }, "?delimiter=."],
    ["a name that a proxy has taken away", numbered, ""],
  ])("is the remote client's: %s", async (_, headers, query) => {
    expect(await dialectOf(headers, query)).toBe("remote");
  });

  it.each([
    ["the client in Rust", { ...database, accept: "*/*" }, "?delimiter=%24"],
    ["the client in Rust, another delimiter", { ...database, accept: "*/*" }, "?delimiter=."],
    ["the client in Rust, numbered by a proxy", { ...numbered, accept: "*/*" }, "?delimiter=%24"],
    ["the client in Rust, named by a proxy", { ...numbered, "user-agent": "proxy/1" }, "?delimiter=%24"],
    ["the client in Java", { ...numbered, "user-agent": "OpenAPI-Generator/0.11.1/java" }, ""],
    ["the client in Python", { ...database, "user-agent": "OpenAPI-Generator/0.11.1/python" }, ""],
    ["a program's own", { ...database, "user-agent": "curl/8" }, ""],
  ])("is one of the interface: %s", async (_, headers, query) => {
    expect(await dialectOf(headers, query)).toBe("interface");
  });
});

it("a request without a database speaks the interface, whoever sends it", async () => {
  const headers = { "content-type": "application/json", "x-request-id": "7" };
  expect(await dialectOf({ ...headers, "user-agent": "LanceDB-Node-Client/0.39.0" })).toBe("interface");
});
