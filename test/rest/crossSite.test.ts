/**
 * Requests that a page of another site can make a browser send run no operation and change nothing. They are
 * random, with a printed seed.
 */

import fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROUTES } from "../../src/rest/wire/routes.js";
import { rowsOf } from "../support/contract.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { runsOf } from "../support/effort.js";
import { makeTempDir } from "../support/tempDir.js";

const RUNS = runsOf("CROSS_SITE_REQUESTS", 600);
const PORT = 8080;
const calls: string[] = [];
let namespace: DirectoryNamespace;

beforeAll(async () => {
  namespace = new DirectoryNamespace({
    root: await makeTempDir(),
    durability: "none",
    authorize: ({ operation }) => void calls.push(operation),
  });
  await namespace.createNamespace({ id: ["n"] });
  for (const id of [["t"], ["n", "t"]]) await namespace.createTable({ id }, rowsOf(1, 2, 3));
});
afterAll(() => namespace.close());

type Headers = Readonly<Record<string, string>>;

const origin = fc.oneof(
  fc.constantFrom("null", "http://localhost", "https://localhost:8443", "http://127.0.0.1", "http://[::1]:1"),
  fc.webUrl().map((url) => new URL(url).origin),
);
/** Headers of requests between sites; old browsers omit some. */
const crossSite: fc.Arbitrary<Headers> = fc.oneof(
  origin.map((from) => ({ origin: from })),
  fc.constantFrom("cross-site", "same-site").map((site) => ({ "sec-fetch-site": site })),
  fc.tuple(origin, fc.constantFrom("cross-site", "same-site")).map(([from, site]) => ({
    origin: from,
    "sec-fetch-site": site,
  })),
);
/** DNS rebinding: the name of the attacker's page resolves to this machine, so all is one site. */
const rebound: fc.Arbitrary<Headers> = fc.webAuthority({ withPort: false }).map((name) => ({
  host: `${name}:${PORT}`,
  origin: `http://${name}:${PORT}`,
  "sec-fetch-site": "same-origin",
}));
/** Content types that a page may send without a preflight, by browsers without fetch metadata. */
const simple: fc.Arbitrary<Headers> = fc
  .constantFrom(
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "text/plain",
    "Text/Plain;x=y",
  )
  .map((type) => ({ "content-type": type }));

const body = fc.constantFrom(
  null,
  "",
  "{}",
  '{"behavior":"Cascade"}',
  '{"version":1}',
  '{"id":["t"]}={}',
  "x=1",
);
const target = fc.tuple(fc.constantFrom(...ROUTES), fc.constantFrom("t", "n$t", "n", "$"));

it("no request of another site's page has an effect", async () => {
  const handler = createRestHandler(namespace, { auth: { anonymous: true } });
  const before = await directorySnapshot(namespace.root);
  calls.length = 0;
  const refused = async (
    headers: Headers,
    [{ path, methods }, id]: [(typeof ROUTES)[number], string],
    sent: string | null,
  ) => {
    const target = path.replace("{id}", encodeURIComponent(id)).replace("{index_name}", "i");
    const [method] = methods;
    const sentHeaders = { host: `localhost:${PORT}`, ...headers };
    const init = { method, headers: sentHeaders, body: method === "GET" ? null : sent };
    const answer = await handler(new Request(`http://localhost:${PORT}${target}`, init));
    await answer.body?.cancel();
    return answer.status;
  };
  await fc.assert(
    fc.asyncProperty(fc.oneof(crossSite, rebound), target, body, async (headers, target, sent) => {
      expect(await refused(headers, target, sent)).toBe("host" in headers ? 421 : 403);
    }),
    { numRuns: RUNS },
  );
  const forms = target.filter(([{ methods }]) => methods[0] === "POST");
  await fc.assert(
    fc.asyncProperty(simple, forms, body, async (headers, target, sent) => {
      expect(await refused(headers, target, sent)).toBe(415);
    }),
    { numRuns: RUNS },
  );
  expect(calls).toEqual([]);
  expect(await directorySnapshot(namespace.root)).toEqual(before);
});
