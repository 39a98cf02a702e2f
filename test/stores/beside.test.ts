/** LanceDB for Node and pylance read and write the tables of a bucket while we do. */

import { DirectoryNamespace } from "tiltyard";
import { type Connection, connect } from "tiltyard-reference/session.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Python } from "../engines/support/python.js";
import { BUCKET, STORES, Store } from "./support/stores.js";

/** Appends of each engine in a race. */
const APPENDS = 15;

describe.each(STORES)("tables in a bucket of %s", (name) => {
  let store: Store;
  let python: Python;
  beforeAll(async () => {
    store = await Store.start(name);
    python = await Python.start("pylance14", "pylance_tables", store.environment);
  });
  afterAll(async () => {
    await python?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  const open = (prefix: string) => new DirectoryNamespace({ root: "/", disk: store.disk(prefix) });
  const connection = (prefix: string): Promise<Connection> =>
    connect(`s3://${BUCKET}/${prefix}`, { storageOptions: store.storageOptions, readConsistencyInterval: 0 });
  const sorted = (values: readonly unknown[]) => values.map(Number).sort((a, b) => a - b);

  it("are read and written by LanceDB", async () => {
    await using ns = open("lancedb");
    await ns.createTable({ id: ["ours"] }, [
      { id: 1, text: "one" },
      { id: 2, text: "two" },
    ]);
    const db = await connection("lancedb");
    expect(await db.tableNames()).toEqual(["ours"]);
    const theirs = await db.openTable("ours");
    await theirs.add([{ id: 3, text: "three" }]);
    await theirs.delete("id = 1");
    expect(sorted((await ns.table("ours").scan().toArray()).map(({ id }) => id))).toEqual([2, 3]);
    await ns.table("ours").update({ where: "id = 2", values: { text: "zwei" } });
    expect(await theirs.query().where("text = 'zwei'").toArray()).toMatchObject([{ id: 2 }]);
    await db.createTable("theirs", [{ id: 9 }]);
    expect((await ns.listTables()).tables).toEqual(["ours", "theirs"]);
    expect(await ns.table("theirs").scan().toArray()).toEqual([{ id: 9 }]);
    expect(await ns.table("ours").versions()).toHaveLength(4);
    db.close();
  });

  it("are read and written by pylance, branches and tags included", async () => {
    await using ns = open("pylance");
    const table = ns.table("t");
    await ns.createTable({ id: ["t"] }, [{ id: 1 }, { id: 2 }]);
    const uri = `s3://${BUCKET}/pylance/t.lance`;
    await python.call("write", uri, await table.scan().toArrow(), { mode: "append" });
    expect(await table.countRows()).toBe(4);
    await ns.createTableBranch({ id: ["t"], name: "side" });
    await ns.insertIntoTable({ id: ["t"], branch: "side" }, [{ id: 7 }]);
    const side = (await python.call("rows_of", uri, ["side", null])) as { readonly numRows: number };
    expect(side.numRows).toBe(5);
    await python.call("create_branch", uri, "other", null);
    expect(await ns.countTableRows({ id: ["t"], branch: "other" })).toBe(4);
    await ns.createTableTag({ id: ["t"], tag: "first", version: 1 });
    expect(await python.call("tags", uri)).toMatchObject({ first: [null, 1] });
    await python.call("update_tag", uri, "first", 2);
    expect((await ns.getTableTagVersion({ id: ["t"], tag: "first" })).version).toBe(2);
  });

  it("keep every acknowledged row of three engines that append at the same time", async () => {
    await using ns = open("race");
    await ns.createTable({ id: ["t"] }, [{ id: -1 }]);
    const db = await connection("race");
    const theirs = await db.openTable("t");
    const uri = `s3://${BUCKET}/race/t.lance`;
    const acknowledged: number[] = [-1];
    const appends = async (first: number, append: (id: number) => Promise<unknown>) => {
      for (let n = first; n < first + APPENDS; n++) {
        await append(n);
        acknowledged.push(n);
      }
    };
    await Promise.all([
      appends(0, (id) => ns.insertIntoTable({ id: ["t"] }, [{ id }])),
      appends(1000, (id) => theirs.add([{ id }])),
      appends(2000, (id) => python.call("append_row", uri, { id })),
    ]);
    const rows = await ns.table("t").scan().toArray();
    expect(sorted(rows.map(({ id }) => id))).toEqual(sorted(acknowledged));
    expect(sorted((await theirs.query().toArray()).map(({ id }) => id))).toEqual(sorted(acknowledged));
    expect((await ns.describeTable({ id: ["t"] })).version).toBe(3 * APPENDS + 1);
    db.close();
  });
});
