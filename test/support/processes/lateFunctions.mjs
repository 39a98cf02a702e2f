/** Makes one call whose SQL calls a function that no call before it in this process did, and tells what came of it. */

import { DirectoryNamespace, sql } from "../../../dist/esm/index.js";

const [root, place] = process.argv.slice(2);
const id = ["t"];
const ns = new DirectoryNamespace({ root, durability: "none" });
const table = ns.table(id);
const texts = async (rows) => (await rows).getChild("x").toJSON();
const HOLDS = "upper(s) = 'AB'";

const PLACES = {
  filter: async () => (await (await ns.queryTable({ id, filter: HOLDS })).toArrow()).numRows,
  column: async () =>
    texts((await ns.queryTable({ id, columns: { columnAliases: { x: "upper(s)" } } })).toArrow()),
  "take by text": () => texts(table.take([0], { columnAliases: { x: "upper(s)" } })),
  "take by expression": () => texts(table.take([0], { columnAliases: { x: sql`upper(s)` } })),
  count: () => table.countRows(HOLDS),
  delete: async () => {
    await table.delete(HOLDS);
    return table.countRows();
  },
  "update where": async () => {
    await ns.updateTable({ id, predicate: HOLDS, updates: [["i", "7"]] });
    return table.countRows("i = 7");
  },
  "updated value": async () => {
    await ns.updateTable({ id, predicate: "i = 1", updates: [["s", "upper(s)"]] });
    return table.countRows("s = 'AB'");
  },
  merge: async () => {
    await table.mergeInsert("i", [{ i: 1, s: "merged" }], {
      whenMatchedUpdateAll: true,
      whenMatchedUpdateAllFilt: "upper(target.s) = 'AB'",
    });
    return table.countRows("s = 'merged'");
  },
  "new column": async () => {
    await ns.alterTableAddColumns({ id, newColumns: [{ name: "x", expression: "upper(s)" }] });
    return texts((await ns.queryTable({ id })).toArrow());
  },
  "new constant": async () => {
    await ns.alterTableAddColumns({ id, newColumns: [{ name: "x", expression: "upper('c')" }] });
    return texts((await ns.queryTable({ id })).toArrow());
  },
  "computed column": async () => {
    await ns.alterTableAddColumns({ id, newColumns: [{ name: "x", computed: "upper(s)" }] });
    return texts((await ns.queryTable({ id })).toArrow());
  },
  backfill: async () => {
    const { jobId } = await ns.alterTableBackfillColumns({ id, column: "later", where: HOLDS });
    await ns.waitForJob({ jobId });
    return texts((await ns.queryTable({ id, columns: { columnAliases: { x: "later" } } })).toArrow());
  },
  explain: async () =>
    /upper/.test(JSON.stringify(await ns.explainTableQueryPlan({ id, query: { filter: HOLDS } }))),
  analyze: async () => /upper/.test(JSON.stringify(await ns.analyzeTableQueryPlan({ id, filter: HOLDS }))),
  "no such function": async () =>
    table.take([0], { columnAliases: { x: "nonesuch(s)" } }).catch(({ name, message }) => [name, message]),
};

process.send({ told: await PLACES[place]() }, () => process.disconnect());
await ns.close();
