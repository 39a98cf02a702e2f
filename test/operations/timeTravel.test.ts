/** Reads and restores versions by time: what requests accept, on the handle and over HTTP. */

import { DirectoryNamespace, InvalidInputError, InvalidTableStateError } from "tiltyard";
import { afterEach, expect, vi } from "vitest";
import { it } from "../support/fixtures.js";
import { reference } from "../support/reference.js";
import { get, post, startRestServer } from "../support/restServer.js";

const id = ["t"];
const START = Date.parse("2026-01-01T00:00:00Z");
const DAY_MS = 86_400_000;
/** Time of noon on a day of January. */
const noon = (day: number): string => `2026-01-${String(day).padStart(2, "0")}T12:00:00Z`;

afterEach(() => {
  vi.useRealTimers();
});

/** Makes a table that gets a row at the start of each of the first days of January 2026. */
async function januaryTable(root: string, days = 4): Promise<DirectoryNamespace> {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, [{ day: 1 }]);
  for (let day = 2; day <= days; day++) {
    vi.setSystemTime(START + (day - 1) * DAY_MS);
    await ns.insertIntoTable({ id }, [{ day }]);
  }
  return ns;
}

it("every reading request takes a moment", async ({ root }) => {
  await using ns = await januaryTable(root);
  const asOf = noon(2);
  const table = ns.table("t", { asOf: new Date(asOf) });
  expect(await table.exists()).toBe(true);
  expect(await table.version()).toBe(2);
  expect(await table.countRows()).toBe(2);
  expect(await table.scan().toArray()).toEqual([{ day: 1 }, { day: 2 }]);
  expect((await table.take([1])).toArray().map((row) => row.toJSON())).toEqual([{ day: 2 }]);
  expect((await table.schema()).fields.map(({ name }) => name)).toEqual(["day"]);
  expect((await table.stats()).numRows).toBe(2);
  expect(await table.indexes()).toEqual([]);
  expect(await table.computedColumns()).toEqual([]);
  expect(await table.query().where("day > 1").toArray()).toEqual([{ day: 2 }]);
  expect(await table.query().explain()).toContain("rows=2");
  expect(await table.query().analyze()).toContain("rows=2");
  expect((await ns.describeTable({ id, asOf })).version).toBe(2);
  expect((await ns.describeTableVersion({ id, asOf })).version.version).toBe(2);
  expect(await ns.table("t", { asOf: "2025-12-31T23:59:59Z" }).exists()).toBe(false);
});

it("a moment is a Date, or text with a zone", async ({ root }) => {
  await using ns = await januaryTable(root);
  const versionAsOf = (asOf: Date | string) => ns.table("t", { asOf }).version();
  expect(await versionAsOf(new Date(START))).toBe(1);
  expect(await versionAsOf("2026-01-02T00:00:00Z")).toBe(2);
  expect(await versionAsOf("2026-01-02T00:00:00.000000001+00:00")).toBe(2);
  expect(await versionAsOf("2026-01-02t01:59+02:00")).toBe(1);
  expect(await versionAsOf("2026-01-01 23:00:00 -01:00")).toBe(2);
  expect(await versionAsOf("9999-12-31T23:59:59Z")).toBe(4);
  const wrong: unknown[] = [
    ...["2026-01-02", "2026-01-02T00:00:00", "yesterday", "", "2026-02-31T00:00:00Z", "2026-13-01T00:00:00Z"],
    ...["2026-01-02T25:00:00Z", "2026-01-02T00:00:00+2:00", new Date(Number.NaN), 1767225600000, {}, []],
  ];
  for (const asOf of wrong) {
    const refused = ns.countTableRows({ id, asOf: asOf as string });
    await expect(refused).rejects.toThrow(InvalidInputError);
    await expect(refused).rejects.toThrow(/^asOf: must be a Date, or text with a time zone/);
  }
});

it("a request names its version in one way", async ({ root }) => {
  await using ns = await januaryTable(root);
  await ns.createTableTag({ id, tag: "two", version: 2 });
  const asOf = noon(2);
  await expect(ns.queryTable({ id, asOf, version: 2 })).rejects.toThrow(InvalidInputError);
  await expect(ns.queryTable({ id, asOf, tag: "two" })).rejects.toThrow(InvalidInputError);
  expect(() => ns.table("t", { asOf, version: 2 })).toThrow(InvalidInputError);
  expect(() => ns.table("t", { asOf, tag: "two" })).toThrow(InvalidInputError);
  await expect(ns.restoreTable({ id })).rejects.toThrow(/^version: is required/);
  await expect(ns.restoreTable({ id, tag: "two", version: 2 })).rejects.toThrow(InvalidInputError);
});

it("a handle with a moment only reads, and starts branches and tags there", async ({ root }) => {
  await using ns = await januaryTable(root);
  const moment = new Date(noon(3));
  const table = ns.table("t", { asOf: moment });
  moment.setTime(START);
  expect(await table.version()).toBe(3);
  await expect(table.insert([{ day: 9 }])).rejects.toThrow(InvalidTableStateError);
  await expect(table.restore(1)).rejects.toThrow(InvalidTableStateError);
  expect(await (await table.createBranch("third")).countRows()).toBe(3);
  await table.createTag("third");
  expect((await ns.getTableTagVersion({ id, tag: "third" })).version).toBe(3);
  expect(await (await ns.table("t").createBranch("second", { asOf: noon(2) })).countRows()).toBe(2);
  const both = ns.table("t").createBranch("x", { asOf: noon(2), version: 2 });
  await expect(both).rejects.toThrow(InvalidInputError);
});

it("restore takes a version, a tag or a moment, and the reference reads the result", async ({ root }) => {
  await using ns = await januaryTable(root);
  const table = ns.table("t");
  await table.createTag("two", 2);
  expect((await table.restore(1)).version).toBe(5);
  expect(await table.countRows()).toBe(1);
  await table.restore({ tag: "two" });
  expect(await table.countRows()).toBe(2);
  await table.restore({ asOf: noon(3) });
  expect(await table.countRows()).toBe(3);
  await table.restore({ version: 4 });
  expect(await table.countRows()).toBe(4);
  expect(await reference.countRows(root, "t")).toBe(4);
  const branch = await table.createBranch("dev");
  await branch.insert([{ day: 9 }]);
  await expect(branch.restore({ tag: "two" })).rejects.toThrow("tag: two names a version of main");
  await branch.createTag("nine");
  await branch.restore(8);
  await branch.restore({ tag: "nine" });
  expect(await branch.countRows()).toBe(5);
  // A tag must exist, and names are checked as anywhere.
  await expect(table.restore({ tag: "none" })).rejects.toThrow("has no tag none");
  await expect(table.restore({ asof: noon(3) } as never)).rejects.toThrow("asOf");
});

it("the wire has as_of, in bodies and in queries", async ({ root }) => {
  await using ns = await januaryTable(root);
  await using server = await startRestServer(ns);
  const at = { as_of: noon(2) };
  expect((await post(server, "/v1/table/t/count_rows", at)).json).toBe(2);
  expect((await get(server, `/v1/table/t/count_rows?as_of=${noon(2)}`)).json).toBe(2);
  expect((await post(server, "/v1/table/t/describe", at)).json.version).toBe(2);
  expect((await post(server, "/v1/table/t/version/describe", at)).json.version.version).toBe(2);
  expect((await post(server, "/v1/table/t/query", { k: 9, ...at })).status).toBe(200);
  expect((await post(server, "/v1/table/t/restore", at)).json.version).toBe(5);
  expect((await post(server, "/v1/table/t/count_rows", {})).json).toBe(2);
  const early = await post(server, "/v1/table/t/count_rows", { as_of: "2020-01-01T00:00:00Z" });
  expect([early.status, early.json.code]).toEqual([404, 11]);
  for (const body of [{ as_of: "2026-01-02" }, { as_of: 1 }, { as_of: noon(2), version: 1 }]) {
    const refused = await post(server, "/v1/table/t/count_rows", body);
    expect([refused.status, refused.json.code]).toEqual([400, 13]);
    expect(refused.json.error).toContain("as_of: ");
  }
});
