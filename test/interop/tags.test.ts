import { tableFromIPC } from "apache-arrow";

import { expect } from "vitest";
import { it } from "../support/fixtures.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { typeOf } from "../support/outcomes.js";
import { reference } from "../support/reference.js";

it("are seen, moved and deleted by the other", async ({ root, ns }) => {
  const id = ["t"];
  await ns.createTable({ id }, rowsOf(1));
  for (const value of [2, 3, 4]) await ns.insertIntoTable({ id }, rowsOf(value));
  await reference.createBranch(root, "t", "dev");
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(50));

  await ns.createTableTag({ id, tag: "ours", version: 1 });
  await ns.createTableTag({ id, tag: "ours-dev", version: 5, branch: "dev" });
  await reference.createTag(root, "t", "theirs", 2);
  await reference.createTag(root, "t", "theirs-dev", 4, { branch: "dev" });

  const expectSame = async () => {
    const { tags } = await ns.listTableTags({ id });
    const ours = Object.entries(tags).map(([tag, { version, manifestSize }]) => [
      tag,
      { version, manifestSize },
    ]);
    expect(Object.fromEntries(ours)).toEqual(await reference.listTags(root, "t"));
    for (const tag of Object.keys(tags)) {
      const { version } = await ns.getTableTagVersion({ id, tag });
      expect(version).toBe(await reference.tagVersion(root, "t", tag));
      const here = valuesOf(await ns.table(id, { tag }).scan().toArrow());
      expect(valuesOf(tableFromIPC(await reference.readTable(root, "t", { tag })))).toEqual(here);
    }
    return tags;
  };
  const tags = await expectSame();
  expect(Object.keys(tags)).toEqual(["ours", "ours-dev", "theirs", "theirs-dev"]);
  expect(tags["ours-dev"]).toMatchObject({ branch: "dev", version: 5 });
  expect(tags.ours).not.toHaveProperty("branch");
  expect(await ns.getTableTagVersion({ id, tag: "theirs-dev" })).toEqual({ version: 4, branch: "dev" });
  expect(valuesOf(await ns.table(id, { tag: "ours-dev" }).scan().toArrow())).toEqual([1, 2, 3, 4, 50]);
  expect(await ns.table(id).tags()).toEqual(tags);

  await reference.updateTag(root, "t", "ours", 3);
  await ns.updateTableTag({ id, tag: "theirs", version: 4, branch: "dev" });
  expect((await expectSame()).theirs).toMatchObject({ version: 4, branch: "dev" });

  await reference.deleteTag(root, "t", "ours-dev");
  await ns.deleteTableTag({ id, tag: "theirs-dev" });
  expect(Object.keys(await expectSame())).toEqual(["ours", "theirs"]);
  await expect(reference.createTag(root, "t", "ours", 1)).rejects.toThrow(/already exists/);
  expect(await typeOf(ns.createTableTag({ id, tag: "theirs", version: 1 }))).toBe("TableTagAlreadyExists");
});

it("are listed page by page while others come and go", async ({ ns }) => {
  const id = ["t"];
  await ns.createTable({ id }, rowsOf(1));
  expect(await ns.listTableTags({ id })).toEqual({ tags: {} });
  const names = ["__proto__", "B", "a", "a.b", "a_b", "constructor", "v1", "v10", "v2"];
  for (const tag of names) await ns.createTableTag({ id, tag, version: 1 });
  const seen: string[] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await ns.listTableTags({ id, limit: 2, pageToken });
    const listed = Object.keys(page.tags);
    expect(listed.length).toBeLessThanOrEqual(2);
    seen.push(...listed);
    if (page.pageToken === undefined) break;
    pageToken = page.pageToken;
    // Neither engine's listing moves entries of later pages.
    await ns.createTableTag({ id, tag: `0${seen.length}`, version: 1 });
    await ns.deleteTableTag({ id, tag: seen[0]! }).catch(() => undefined);
  }
  expect(seen).toEqual([...names].sort());
  expect(Object.keys((await ns.listTableTags({ id, limit: 5 })).tags).length).toBe(5);
  expect((await ns.listTableTags({ id, pageToken: "zz", limit: 1 })).tags).toEqual({});
});
