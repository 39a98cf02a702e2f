/** A table's own rule for cleanups is kept in its config, where both engines follow it. */

import { InvalidInputError } from "tiltyard";
import { expect, it } from "vitest";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { withReference } from "../support/indexedTable.js";

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

async function newTable() {
  const table = namespace.table(`t${tables++}`);
  await table.create([{ n: 0 }]);
  return table;
}
type TestTable = Awaited<ReturnType<typeof newTable>>;

const versionsOf = async (table: TestTable): Promise<number[]> => {
  const versions = await table.versions();
  return versions.map(({ version }) => Number(version)).sort((a, b) => a - b);
};

it("commits clean up by the rule of their table", async () => {
  const table = await newTable();
  const rule = { olderThanMs: 0, retainVersions: 2, interval: 3 };
  expect(await table.configureCleanup(rule)).toMatchObject({ version: 2, ...rule });
  for (let n = 1; n <= 4; n++) await table.insert([{ n }]);
  expect(await versionsOf(table)).toEqual([5, 6]);
});

it("LanceDB follows the rule", async () => {
  const table = await newTable();
  await table.configureCleanup({ olderThanMs: 0, interval: 3 });
  await withReference(root, `t${tables - 1}`, async (there) => {
    for (let n = 1; n <= 4; n++) await there.add([{ n }]);
  });
  expect((await versionsOf(table)).length).toBeLessThan(4);
});

it("a rule without members ends the cleanups, and a member alone gets the defaults", async () => {
  const table = await newTable();
  expect(await table.configureCleanup({ retainVersions: 1 })).toMatchObject({
    ...{ retainVersions: 1, interval: 20, olderThanMs: 604_800_000 },
  });
  await table.configureCleanup({ olderThanMs: 0, interval: 1 });
  const off = await table.configureCleanup({});
  expect(Object.keys(off).sort()).toEqual(["transactionId", "version"]);
  const before = await versionsOf(table);
  await table.insert([{ n: 1 }]);
  expect(await versionsOf(table)).toEqual([...before, off.version + 1]);
});

it("tagged versions stay", async () => {
  const table = await newTable();
  await table.createTag("first", 1);
  await table.configureCleanup({ olderThanMs: 0, interval: 1 });
  for (let n = 1; n <= 3; n++) await table.insert([{ n }]);
  expect(await versionsOf(table)).toContain(1);
});

it.each([
  [{ interval: 0 }, "interval"],
  [{ olderThanMs: -1 }, "olderThanMs"],
  [{ retainVersions: 0 }, "retainVersions"],
  [{ retainVersions: 1.5 }, "retainVersions"],
  [{ interval: "3" }, "interval"],
  [{ every: 3 }, "every"],
])("%j is refused and changes nothing", async (rule, member) => {
  const table = await newTable();
  const refused = table.configureCleanup(rule as object);
  await expect(refused).rejects.toThrow(InvalidInputError);
  await expect(refused).rejects.toThrow(new RegExp(`^${member}`));
  expect(await versionsOf(table)).toEqual([1]);
});
