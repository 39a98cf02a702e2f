import { inspect } from "node:util";
import { col, DirectoryNamespace } from "tiltyard";
import { beforeEach, expect, it } from "vitest";
import { makeTempDir } from "./support/tempDir.js";

const SECRETS = {
  identity: { apiKey: "secret" },
  principal: { subject: "secret", method: "apiKey" },
  context: { token: "secret" },
};

let root: string;
let ns: DirectoryNamespace;
beforeEach(async () => {
  root = await makeTempDir();
  ns = new DirectoryNamespace({ root, authorize: () => undefined });
});

it("a namespace shows its directory, and that it is closed", async () => {
  expect(inspect(ns)).toBe(`DirectoryNamespace { root: '${root}' }`);
  await ns.close();
  expect(inspect(ns)).toContain("closed: true");
  expect(inspect({ ns })).toContain("ns: DirectoryNamespace {");
});

it("a handle shows its table and its version, and no secrets", () => {
  const handle = ns.table(["sales", "orders"], { version: 3, ...SECRETS });
  expect(inspect(handle)).toMatch(/^TableHandle "sales\$orders" \{ root: '.*', version: 3 \}$/s);
  expect(inspect(handle)).not.toContain("secret");
});

it("queries and scans show what they ask for, without values of parameters and long vectors", () => {
  const table = ns.table("t", SECRETS);
  const query = table
    .query()
    .where("price > $most", { most: 5 })
    .select(["id"])
    .nearestTo(new Float32Array(384))
    .limit(3);
  expect(inspect(query, { breakLength: Number.POSITIVE_INFINITY })).toBe(
    `TableQuery { filter: 'price > $most', params: [ 'most' ], columns: [ 'id' ], vector: '384 items', limit: 3 }`,
  );
  const scan = table.scan({ filter: col("id").gt(7), orderBy: "-id", signal: new AbortController().signal });
  expect(inspect(scan)).toMatch(/^Scan \{ filter: '.*id.*7.*', orderBy: '-id' \}$/);
  expect(inspect(table.search({ text: "oak" }))).toBe("Scan { text: 'oak' }");
  expect(inspect(table.scan())).toBe("Scan");
  expect(inspect(table.distinct("id"))).toBe("Scan { groupBy: 'id' }");
});

it("a result shows its columns", async () => {
  const t = ns.table("t");
  await t.create([{ id: 1, name: "ash" }]);
  const shown = "QueryResult { columns: [ 'id: Float64', 'name: Utf8' ] }";
  expect(inspect(await ns.queryTable({ id: "t" }))).toBe(shown);
  expect(inspect(await ns.aggregateTable({ id: "t", values: { n: "count(*)" } }))).toBe(
    "QueryResult { columns: [ 'n: Int64' ] }",
  );
  expect(inspect(await ns.diffTableVersions({ id: "t", from: 1, on: "id" }))).toMatch(/^QueryResult \{/);
});

it("prototypes can be shown", () => {
  expect(inspect(Object.getPrototypeOf(ns))).toBe("{}");
});

it("an error shows its class, message and code", async () => {
  const error: unknown = await ns.describeTable({ id: "none" }).catch((reason: unknown) => reason);
  expect(inspect(error)).toMatch(/^TableNotFoundError: .*none[\s\S]*code: 4/);
});
