/** Requests of browsers: pages of other sites, rebound names, forms and preflights. */

import { request as httpRequest, type RequestListener } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { InvalidInputError } from "tiltyard";
import { createRestHandler, type RestHandlerOptions, toNodeListener } from "tiltyard/rest";
import { rowsOf } from "../../support/contract.js";
import { beforeAll, describe, expect, it, sharedNamespace } from "../../support/fixtures.js";
import { startRestServer } from "../../support/restServer.js";

const KEY = "secret";
const ANONYMOUS = { anonymous: true };
const APP = "https://app.example.com";
const namespace = sharedNamespace();

beforeAll(async () => {
  await namespace.createTable({ id: ["t"] }, rowsOf(1));
});

type Headers = Readonly<Record<string, string>>;

function ask(options: RestHandlerOptions, headers: Headers, { method = "POST", path = "exists" } = {}) {
  const handler = createRestHandler(namespace, { auth: ANONYMOUS, ...options });
  return handler(new Request(`http://localhost/v1/table/t/${path}`, { method, headers }));
}

const statusOf = async (options: RestHandlerOptions, headers: Headers) =>
  (await ask(options, headers)).status;

describe("hosts", () => {
  const LOOPBACK = [
    ...["localhost", "LocalHost:8080", "localhost.", "a.localhost:1", "127.0.0.1", "127.8.9.1:80", "127.1"],
    ...["[::1]", "[::1]:8080", "[0:0:0:0:0:0:0:1]"],
  ];
  const FOREIGN = [
    ...[
      "evil.example",
      "evil.example:8080",
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "notlocalhost",
    ],
    ...[
      "10.0.0.1",
      "0.0.0.0",
      "[::2]",
      "localhost@evil.example",
      "localhost, evil.example",
      "localhost:x",
      "a b",
    ],
    ...["", "[::1", "localhost/x", "localhost#", "localhost?", "localhost\\x", "128.0.0.1"],
  ];

  it("an anonymous server only answers for the names of its machine", async () => {
    for (const host of LOOPBACK) expect(await statusOf({}, { host }), host).toBe(200);
    for (const host of FOREIGN) {
      const answer = await ask({}, { host });
      expect(answer.status, host).toBe(421);
      expect(await answer.json()).toMatchObject({
        type: "/errors/misdirected-request",
        code: 15,
        detail: expect.stringMatching(/allowedHosts/),
      });
    }
  });

  it("the host of the URL counts if the header is missing", async () => {
    const handler = createRestHandler(namespace, { auth: ANONYMOUS });
    const statusOf = async (url: string) => (await handler(new Request(url, { method: "POST" }))).status;
    expect(await statusOf("http://evil.example/v1/table/t/exists")).toBe(421);
    expect(await statusOf("https://localhost:9/v1/table/t/exists")).toBe(200);
  });

  it("a server with credentials answers for any host by default", async () => {
    const auth = { apiKeys: [KEY] };
    for (const host of [...LOOPBACK, ...FOREIGN]) {
      expect(await statusOf({ auth }, { host, "x-api-key": KEY }), host).toBe(200);
      expect(await statusOf({ auth: { ...auth, anonymous: true } }, { host, "x-api-key": KEY })).toBe(
        LOOPBACK.includes(host) ? 200 : 421,
      );
    }
    expect(await statusOf({ auth, allowedHosts: ["a.example"] }, { host: "b.example" })).toBe(421);
    expect(await statusOf({ auth, allowedHosts: ["a.example"] }, { host: "a.example" })).toBe(401);
  });

  it("a list of hosts replaces the default", async () => {
    const cases: [pattern: string, fits: string[], fitsNot: string[]][] = [
      [
        "a.example",
        ["a.example", "A.EXAMPLE:8080", "a.example."],
        ["b.a.example", "xa.example", "localhost"],
      ],
      ["a.example:8080", ["a.example:8080"], ["a.example", "a.example:80"]],
      ["*.a.example", ["b.a.example", "c.b.a.example:1"], ["a.example", "ba.example"]],
      ["*.a.example:80", ["b.a.example:80"], ["b.a.example:8080"]],
      ["[::1]:8080", ["[::1]:8080"], ["[::1]", "localhost:8080"]],
      ["BÜCHER.example", ["xn--bcher-kva.example"], ["bucher.example"]],
      ["*", ["anything.example:1", "localhost"], ["a b", ""]],
    ];
    for (const [pattern, fits, fitsNot] of cases) {
      const options = { allowedHosts: [pattern] };
      for (const host of fits) expect(await statusOf(options, { host }), `${pattern}: ${host}`).toBe(200);
      for (const host of fitsNot) expect(await statusOf(options, { host }), `${pattern}: ${host}`).toBe(421);
    }
    const either = { allowedHosts: ["a.example", "localhost"] };
    for (const host of ["a.example", "localhost:1"]) expect(await statusOf(either, { host })).toBe(200);
  });

  it("the host over a socket comes from the header or the target", async () => {
    const server = await startRestServer(namespace);
    const { port } = server.server.address() as AddressInfo;
    const ask = (path: string, host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = httpRequest({ port, host: "127.0.0.1", path, method: "POST", headers: { host } });
        asked.once("response", (answer) => resolve(answer.resume().statusCode));
        asked.once("error", reject).end();
      });
    const path = "/v1/table/t/exists";
    expect(await ask(path, `localhost:${port}`)).toBe(200);
    expect(await ask(path, `evil.example:${port}`)).toBe(421);
    expect(await ask(`http://evil.example${path}`, "localhost")).toBe(421);
    expect(await ask(`http://localhost${path}`, "evil.example")).toBe(200);
    await server[Symbol.asyncDispose]();
  });
});

it("the authority is the host over HTTP/2", async () => {
  const listener: RequestListener = toNodeListener(createRestHandler(namespace, { auth: ANONYMOUS }));
  const server = createHttp2Server(listener as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const ask = (authority: string, more: Headers = {}) =>
    new Promise<unknown>((resolve, reject) => {
      const names = { ":authority": authority, ":method": "POST", ":path": "/v1/table/t/exists", ...more };
      const asked = session.request(names, { endStream: true });
      asked.once("response", (answer) => resolve(answer[":status"])).once("error", reject);
      asked.resume();
    });
  expect(await ask("localhost:8080")).toBe(200);
  expect(await ask("evil.example")).toBe(421);
  expect(await ask("evil.example", { host: "localhost" })).toBe(421);
  expect(await ask("localhost", { origin: "https://localhost" })).toBe(200);
  expect(await ask("localhost", { origin: "https://evil.example" })).toBe(403);
  session.close();
  await new Promise((resolve) => server.close(resolve));
});

describe("pages", () => {
  const CREDENTIALS: RestHandlerOptions[] = [{}, { auth: { apiKeys: [KEY] } }];

  it("pages of other sites may not call, whoever the caller, and their requests are not read", async () => {
    const foreign: Headers[] = [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "anything" },
      { origin: "https://evil.example" },
      { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
      { origin: "http://localhost:81" },
      { origin: "http://a.localhost" },
      { origin: "null" },
      { origin: "null", "sec-fetch-site": "same-origin" },
      { origin: "" },
      { origin: "localhost" },
      { origin: "file://" },
      { origin: "http://localhost, http://localhost" },
    ];
    for (const options of CREDENTIALS) {
      for (const headers of foreign) {
        let pulled = 0;
        const body = new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 });
        const handler = createRestHandler(namespace, { auth: ANONYMOUS, ...options });
        const init = { method: "POST", headers: { ...headers, host: "localhost", "x-api-key": KEY }, body };
        const request = new Request("http://localhost/v1/table/t/drop", {
          ...init,
          duplex: "half",
        } as object);
        const answer = await handler(request);
        expect(answer.status, JSON.stringify(headers)).toBe(403);
        expect(await answer.json()).toMatchObject({ type: "/errors/forbidden-request", code: 15 });
        expect(pulled).toBe(0);
      }
    }
    await namespace.tableExists({ id: ["t"] });
  });

  it("pages of the server itself may call, even through a proxy with TLS", async () => {
    const ownPages: [host: string, origin: string][] = [
      ["localhost", "http://localhost"],
      ["localhost", "https://localhost"],
      ["localhost:8080", "http://localhost:8080"],
      ["localhost:443", "https://localhost"],
      ["localhost:80", "http://localhost"],
      ["[::1]:8080", "http://[::1]:8080"],
      ["LOCALHOST:8080", "http://localhost:8080"],
    ];
    for (const [host, origin] of ownPages) {
      expect(await statusOf({}, { host, origin }), host).toBe(200);
      expect(await statusOf({}, { host, origin, "sec-fetch-site": "same-origin" })).toBe(200);
    }
    expect(await statusOf({}, { "sec-fetch-site": "none" })).toBe(200);
    expect(await statusOf({}, { host: "localhost:80", origin: "https://localhost" })).toBe(403);
  });

  it("listed pages may call, and every answer says so, including errors", async () => {
    const options: RestHandlerOptions = { auth: { apiKeys: [KEY] }, allowedOrigins: [APP] };
    const headers = { origin: APP, "sec-fetch-site": "cross-site" };
    for (const [more, status] of [
      [{ "x-api-key": KEY }, 200],
      [{}, 401],
      [{ "x-api-key": KEY, "content-type": "text/plain" }, 415],
    ] as const) {
      const answer = await ask(options, { ...headers, ...more });
      expect(answer.status).toBe(status);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "access-control-allow-origin": APP,
        "access-control-expose-headers": expect.stringMatching(/x-request-id.*www-authenticate/),
        vary: expect.stringMatching(/\borigin\b/),
      });
      expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
    }
    for (const origin of ["https://evil.example", `${APP}:8443`, "http://app.example.com", "null"]) {
      const answer = await ask(options, { origin, "x-api-key": KEY });
      expect(answer.status, origin).toBe(403);
      expect(answer.headers.has("access-control-allow-origin")).toBe(false);
      expect(answer.headers.get("vary")).toMatch(/\borigin\b/);
    }
    const plain = await ask(options, { "x-api-key": KEY });
    expect(plain.headers.has("access-control-allow-origin")).toBe(false);
    expect(plain.headers.get("vary")).toMatch(/\borigin\b/);
  });

  it("a star allows pages with a name, and pages of an app's own scheme", async () => {
    const any: RestHandlerOptions = { allowedOrigins: ["*"] };
    expect(await statusOf(any, { origin: "https://any.example" })).toBe(200);
    expect(await statusOf(any, { origin: "null" })).toBe(403);
    expect(await statusOf(any, { "sec-fetch-site": "cross-site" })).toBe(403);
    // The host is checked nevertheless.
    expect(await statusOf(any, { origin: "https://any.example", host: "any.example" })).toBe(421);
    const app: RestHandlerOptions = { allowedOrigins: ["app://tables", "HTTPS://App.Example.com:443/"] };
    expect(() => createRestHandler(namespace, app)).toThrow(InvalidInputError);
    const fine: RestHandlerOptions = { allowedOrigins: ["app://tables", "HTTPS://App.Example.com:443"] };
    for (const origin of ["app://tables", APP]) expect(await statusOf(fine, { origin })).toBe(200);
  });

  it("preflights are answered without credentials for allowed pages, and refused for others", async () => {
    const options: RestHandlerOptions = { auth: { apiKeys: [KEY] }, allowedOrigins: [APP] };
    const wanted = "authorization,content-type,x-lance-ctx-anything";
    const preflight = (headers: Headers) =>
      ask(options, { "access-control-request-method": "POST", ...headers }, { method: "OPTIONS" });
    const answer = await preflight({ origin: APP, "access-control-request-headers": wanted });
    expect(answer.status).toBe(204);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "access-control-allow-origin": APP,
      "access-control-allow-methods": "GET, HEAD, POST",
      "access-control-allow-headers": wanted,
      "access-control-max-age": expect.stringMatching(/^\d+$/),
      vary: expect.stringMatching(/\borigin\b/),
    });
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
    const refused = await preflight({ origin: "https://evil.example", "sec-fetch-site": "cross-site" });
    expect(refused.status).toBe(403);
    expect(refused.headers.has("access-control-allow-origin")).toBe(false);
    // A request without the requested method is not a preflight.
    expect((await ask(options, { origin: APP }, { method: "OPTIONS" })).status).toBe(401);
    expect((await preflight({})).status).toBe(401);
    const keyed = { "x-api-key": KEY };
    expect((await preflight({ ...keyed, origin: "http://localhost" })).status).toBe(405);
  });
});

it("invalid options are refused", () => {
  const wrong: object[] = [
    ...["a.example", [1], [], ["http://a.example"], ["a.example/x"], ["a b"], ["a.*"], ["*.*.x"], [""]].map(
      (allowedHosts) => ({ allowedHosts }),
    ),
    ...[APP, [1], ["app.example.com"], ["null"], [`${APP}/`], ["https://*.example.com"], [""]].map(
      (allowedOrigins) => ({ allowedOrigins }),
    ),
  ];
  for (const options of wrong) {
    expect(() => createRestHandler(namespace, options), JSON.stringify(options)).toThrow(InvalidInputError);
  }
  createRestHandler(namespace, { allowedOrigins: [] });
});

it("a form is refused with or without a body, and a request without either is accepted", async () => {
  for (const type of ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"]) {
    for (const path of ["exists", "drop", "insert"]) {
      const answer = await ask({}, { "content-type": type }, { path });
      expect(answer.status, `${path}, ${type}`).toBe(415);
    }
  }
  expect(await statusOf({}, {})).toBe(200);
  expect(await statusOf({}, { "content-type": "application/json; charset=utf-8" })).toBe(200);
});

it("browsers do not guess the type of an answer", async () => {
  for (const [path, method] of [
    ["exists", "POST"],
    ["nothing", "POST"],
    ["query", "POST"],
    ["describe", "POST"],
  ]) {
    const answer = await ask({}, {}, { path, method });
    expect(answer.headers.get("x-content-type-options"), path).toBe("nosniff");
    await answer.body?.cancel();
  }
});
