/** Ray: tasks that read and write our tables, and commits that our server makes versions. */

import { join } from "node:path";
import type { Table } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TYPE_NAMES } from "../support/generators.js";
import { closeAll, FILE_VERSIONS, namespacesOf } from "../support/interop.js";
import { expectSame, typesOf, valuesOf } from "./support/frameSuite.js";
import { API_KEY } from "./support/handler.js";
import { RayPython } from "./support/rayPython.js";
import { numbersFrom } from "./support/rows.js";
import { makeSampleTable, sampleRows } from "./support/sampleTable.js";
import { ServedDirectory } from "./support/served.js";

const ROUNDS = 20;
const COLUMNS = ["id", "kind", "n", "tags"];
const rowsFrom = (first: number, count: number): Table => sampleRows(first, count).select(COLUMNS);

describe("Ray 2.60.0 with lance-ray 0.5.0", () => {
  let served: ServedDirectory;
  let python: RayPython;
  beforeAll(async () => {
    served = await ServedDirectory.serve();
    python = await RayPython.start("ray", "ray_tables");
  }, 300_000);
  afterAll(async () => {
    await python?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  }, 60_000);

  const byPath = (name: string) => ({ uri: join(served.root, `${name}.lance`) });
  const properties = (key = API_KEY) => ({ uri: served.handler.url, "headers.x-api-key": key });
  const byRest = (name: string, key?: string) => ({
    namespace_impl: "rest",
    namespace_properties: properties(key),
    table_id: [name],
  });
  const ours = (name: string) => served.namespace.table([name]);
  const rowsHere = (name: string) => ours(name).scan().toArrow();
  const versionOf = async (name: string) => Number((await ours(name).describe()).version);
  const idsOf = (name: string) => served.ids([name]);

  it.each(FILE_VERSIONS)("reads our table of data files %s in tasks, by path", async (version) => {
    const name = served.freshName();
    const namespaces = namespacesOf(served.root);
    await makeSampleTable(namespaces[version], name, { nullStructs: version !== "2.0" });
    await closeAll(namespaces);
    const rows = await rowsHere(name);
    expectSame(rows, await python.call("rows", byPath(name), typesOf(rows.schema)));
    expect(await python.call("blocks", byPath(name))).toBeGreaterThan(1);
  });

  it("reads every type", async () => {
    const name = served.freshName();
    const values = valuesOf(TYPE_NAMES);
    await served.namespace.createTable({ id: [name] }, values);
    expectSame(values, await python.call("rows", byPath(name), typesOf(values.schema)));
  });

  it("reads our table by REST with an API key, filtered and projected", async () => {
    const name = served.freshName();
    await makeSampleTable(served.namespace, name);
    const filter = "id > 100 AND kind = 'kind 2'";
    const expected = await ours(name)
      .scan({ filter, columns: ["id", "s", "vector"] })
      .toArrow();
    expectSame(expected, await python.call("rows", byRest(name), typesOf(expected.schema), filter));
    const sums: Record<string, number> = {};
    for (const { id, kind } of await rowsHere(name)) sums[kind] = (sums[kind] ?? 0) + Number(id);
    expect(await python.call("ids_by_kind", byRest(name))).toEqual(sums);
  });

  it("is refused with a wrong API key", async () => {
    const name = served.freshName();
    await served.namespace.createTable({ id: [name] }, rowsFrom(0, 3));
    const like = typesOf(rowsFrom(0, 1).schema);
    await expect(python.call("rows", byRest(name, "wrong"), like)).rejects.toThrow("Unauthenticated");
    await expect(python.call("write", byRest(name, "wrong"), [rowsFrom(3, 3)], "append")).rejects.toThrow(
      "Unauthenticated",
    );
    expect(await idsOf(name)).toEqual([0, 1, 2]);
  });

  it.each([
    ["path", byPath],
    ["REST", byRest],
  ] as const)("writes a table in tasks by %s, appends and overwrites, and we read it", async (_, source) => {
    const name = served.freshName();
    await python.call("write", source(name), [rowsFrom(0, 60), rowsFrom(60, 60)], "create");
    expectSame(rowsFrom(0, 120), await rowsHere(name));
    await ours(name).delete("id < 10");
    await python.call("write", source(name), [rowsFrom(120, 50), rowsFrom(170, 30)], "append");
    expectSame(rowsFrom(10, 190), await rowsHere(name));
    await python.call("write", source(name), [rowsFrom(500, 20)], "overwrite");
    expectSame(rowsFrom(500, 20), await rowsHere(name));
  });

  it("adds a column, compacts and indexes our table in tasks", async () => {
    const name = served.freshName();
    await makeSampleTable(served.namespace, name);
    const { uri } = byPath(name);
    const before = await rowsHere(name);
    await python.call("add_column", uri);
    await python.call("compact", uri);
    await python.call("index", uri, "small");
    const after = await rowsHere(name);
    expectSame(before, after.select(before.schema.fields.map(({ name: column }) => column)));
    for (const { id, twice } of after) expect(twice).toBe(id * 2n);
    expect(await ours(name).countRows("small = 7")).toBe(1);
    const plan = await served.namespace.explainTableQueryPlan({ id: [name], query: { filter: "small = 7" } });
    expect(plan).toContain("small_idx");
  });

  describe("fragments of tasks in one commit through our server", () => {
    it("loses nothing of an append of ours in between", async () => {
      const name = served.freshName();
      await served.namespace.createTable({ id: [name] }, rowsFrom(0, 30));
      const { uri } = byPath(name);
      const version = await versionOf(name);
      const pieces = [rowsFrom(100, 40), rowsFrom(140, 40), rowsFrom(180, 20)];
      const fragments = await python.call<string[]>("fragments_of", uri, pieces);
      expect(fragments).toHaveLength(3);
      expect(await idsOf(name)).toEqual(numbersFrom(0, 30));
      await ours(name).insert(rowsFrom(30, 20));
      await ours(name).delete("id = 3");
      const committed = await python.call("commit", uri, fragments, version, properties(), [name]);
      expect(committed).toBe(version + 3);
      expect(await idsOf(name)).toEqual([
        ...numbersFrom(0, 50).filter((id) => id !== 3),
        ...numbersFrom(100, 100),
      ]);
    });

    it("makes no version without the key", async () => {
      const name = served.freshName();
      await served.namespace.createTable({ id: [name] }, rowsFrom(0, 5));
      const { uri } = byPath(name);
      const version = await versionOf(name);
      const fragments = await python.call<string[]>("fragments_of", uri, [rowsFrom(5, 5)]);
      const refused = python.call("commit", uri, fragments, version, properties("wrong"), [name]);
      await expect(refused).rejects.toThrow("Unauthenticated");
      expect(await versionOf(name)).toBe(version);
    });

    it(`loses no row in ${ROUNDS} rounds of a race with our inserts by REST`, async () => {
      const name = served.freshName();
      await served.namespace.createTable({ id: [name] }, rowsFrom(0, 1));
      const { uri } = byPath(name);
      const insert = (rows: Table) => served.insertByRest([name], rows);
      let next = 1;
      const take = (count: number) => {
        next += count;
        return rowsFrom(next - count, count);
      };
      for (let round = 0; round < ROUNDS; round++) {
        const inTasks = python.call("append_in_tasks", uri, [take(3), take(3)], properties(), [name]);
        await Promise.all([inTasks, insert(take(2)).then(() => insert(take(2))), insert(take(2))]);
      }
      expect(await idsOf(name)).toEqual(numbersFrom(0, next));
      // One version for each of two tasks and three inserts.
      expect(await versionOf(name)).toBe(1 + ROUNDS * 5);
    });
  });
});
