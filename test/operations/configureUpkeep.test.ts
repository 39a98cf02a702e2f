/** A table's own thresholds of upkeep and its rule for cleanups: stored, refused and read back. */

import { DirectoryNamespace, InvalidInputError, InvalidTableStateError } from "tiltyard";
import { expect, it } from "vitest";
import { dueUpkeep } from "../../src/operations/upkeep/dueUpkeep.js";
import { storedThresholds, thresholdConfig } from "../../src/operations/upkeep/thresholds.js";
import { storedCleanupRule } from "../../src/table/cleanup/cleanupRule.js";
import { rowsOf } from "../support/intRows.js";
import { RestNamespace } from "../support/restNamespace.js";
import { makeTempDir } from "../support/tempDir.js";

const classes: [string, typeof DirectoryNamespace][] = [
  ["in process", DirectoryNamespace],
  ["over HTTP", RestNamespace as never],
];

async function newTable(Namespace = DirectoryNamespace) {
  const namespace = new Namespace({ root: await makeTempDir(), durability: "none" });
  const table = namespace.table(["t"]);
  await table.create(rowsOf(0));
  return { table, [Symbol.asyncDispose]: () => namespace.close() };
}

it.each(classes)("thresholds are stored in one commit and read back, %s", async (_, Namespace) => {
  await using test = await newTable(Namespace);
  const { table } = test;
  expect(await table.describe()).not.toHaveProperty("upkeep");
  const thresholds = { smallFragments: 4, deletedPercent: 0, unindexedRows: "off", versions: 9 } as const;
  const { transactionId, ...stored } = await table.configureUpkeep(thresholds);
  expect(stored).toEqual({ version: 2, ...thresholds });
  expect(transactionId).toMatch(/^[0-9a-f-]{36}$/);
  expect((await table.describe()).upkeep).toEqual(thresholds);
});

it.each(classes)("a threshold with null, or without a value, gets its default, %s", async (_, Namespace) => {
  await using test = await newTable(Namespace);
  const { table } = test;
  await table.configureUpkeep({ smallFragments: 4, unindexedRows: 7, versions: "off" });
  await table.configureUpkeep({ smallFragments: null, versions: 3 });
  expect((await table.describe()).upkeep).toEqual({ versions: 3 });
  expect(Object.keys(await table.configureUpkeep({})).sort()).toEqual(["transactionId", "version"]);
  expect(await table.describe()).not.toHaveProperty("upkeep");
});

it.each(classes)("a change of one threshold starts from the answer of describe, %s", async (_, Namespace) => {
  await using test = await newTable(Namespace);
  const { table } = test;
  await table.configureUpkeep({ smallFragments: 4, versions: "off" });
  await table.configureUpkeep({ ...(await table.describe()).upkeep, deletedPercent: 50 });
  expect((await table.describe()).upkeep).toEqual({ smallFragments: 4, versions: "off", deletedPercent: 50 });
});

it.each(classes)("the rule for cleanups is read back and ends, %s", async (_, Namespace) => {
  await using test = await newTable(Namespace);
  const { table } = test;
  expect(await table.describe()).not.toHaveProperty("cleanup");
  await table.configureCleanup({ retainVersions: 9 });
  const cleanup = { olderThanMs: 604_800_000, retainVersions: 9, interval: 20 };
  expect((await table.describe()).cleanup).toEqual(cleanup);
  await table.configureUpkeep({ versions: 5 });
  expect(await table.describe({})).toMatchObject({ cleanup, upkeep: { versions: 5 } });
  await table.configureCleanup({});
  expect(await table.describe()).not.toHaveProperty("cleanup");
  expect((await table.describe()).upkeep).toEqual({ versions: 5 });
});

it.each(
  classes.flatMap(([where, Namespace]) =>
    [
      [{ smallFragments: -1 }, /small_?fragments/i],
      [{ deletedPercent: 101 }, /deleted_?percent/i],
      [{ deletedPercent: 0.5 }, /deleted_?percent/i],
      [{ unindexedRows: 2 ** 53 }, /unindexed_?rows/i],
      [{ versions: "4" }, /versions/],
      [{ versions: "OFF" }, /versions/],
      [{ versions: false }, /versions/],
      [{ versions: 5, smallFragments: [4] }, /small_?fragments/i],
    ].map(([thresholds, member]) => [thresholds, where, member, Namespace] as const),
  ),
)("%j is refused and changes nothing, %s", async (thresholds, _, member, Namespace) => {
  await using test = await newTable(Namespace as typeof DirectoryNamespace);
  const refused = test.table.configureUpkeep(thresholds as object);
  await expect(refused).rejects.toThrow(InvalidInputError);
  await expect(refused).rejects.toThrow(member as RegExp);
  expect(await test.table.version()).toBe(1);
});

it("an unknown threshold is refused with the one that was meant", async () => {
  await using test = await newTable();
  const refused = test.table.configureUpkeep({ smallFragment: 4 } as object);
  await expect(refused).rejects.toThrow("did you mean smallFragments?");
});

it("a handle on a branch refuses thresholds, because upkeep keeps the main branch", async () => {
  await using test = await newTable();
  const branch = await test.table.createBranch("dev");
  await expect(branch.configureUpkeep({ versions: 1 })).rejects.toThrow(InvalidTableStateError);
});

it("upkeep follows the stored thresholds", async () => {
  const due = (thresholds: object) =>
    dueUpkeep(
      {
        manifest: {
          config: new Map([...thresholdConfig(thresholds)].filter(([, text]) => text !== null)),
          fragments: [{ id: 0, physicalRows: 10, files: [] }],
          version: 50,
        },
        indexSectionBytes: null,
      } as never,
      0,
    );
  expect(due({})).toEqual({ optimizes: false, cleansUp: false });
  expect(due({ smallFragments: 0 })).toEqual({ optimizes: true, cleansUp: false });
  expect(due({ smallFragments: 0, versions: 49 })).toEqual({ optimizes: true, cleansUp: true });
  expect(due({ smallFragments: "off", versions: "off" })).toEqual({ optimizes: false, cleansUp: false });
});

it("settings of other writers are read as commits and upkeep follow them", () => {
  const rule = (config: object) =>
    storedCleanupRule(
      new Map(Object.entries(config).map(([key, text]) => [`lance.auto_cleanup.${key}`, text])),
    );
  expect(rule({ interval: "0" })).toEqual({ olderThanMs: 0, interval: 1 });
  expect(rule({ interval: "5", older_than: "14d", retain_versions: "3" })).toEqual({
    ...{ olderThanMs: 1_209_600_000, retainVersions: 3, interval: 5 },
  });
  expect(rule({ interval: "5", older_than: "1500us" })?.olderThanMs).toBe(2);
  expect(rule({ interval: "5", older_than: "999999999999years" })?.olderThanMs).toBe(2 ** 53 - 1);
  expect(rule({ interval: "5", older_than: "soon" })).toBeUndefined();
  expect(rule({ older_than: "14d" })).toBeUndefined();
  const texts = { small_fragments: "four", deleted_percent: "-1", unindexed_rows: "1e3", versions: "off" };
  const config = new Map(Object.entries(texts).map(([key, text]) => [`tiltyard.upkeep.${key}`, text]));
  expect(storedThresholds(config)).toEqual({ versions: "off" });
});
