// The calls that AnythingLLM's provider for LanceDB makes, which is no package.
const lancedb = require("@lancedb/lancedb");

async function main() {
  const { embedded, step } = await import("./steps.mjs");
  const client = await lancedb.connect("./anything-data");
  const row = (id, text) => ({ id, vector: embedded(text), title: `${id}.txt`, published: "2026", text });
  const distances = async (table, text, limit) =>
    (await table.vectorSearch(embedded(text)).distanceType("cosine").limit(limit).toArray()).map((item) => {
      const { vector: _, ...rest } = item;
      return [rest.id, rest.text, rest._distance];
    });

  await step("tables of a new database", () => client.tableNames());
  await step("table that is not there", () =>
    client.openTable("workspace").then(
      () => "opened",
      () => false,
    ),
  );
  await step("create", async () => {
    await client.createTable("workspace", [row("a", "the fox jumps"), row("b", "a lazy dog")]);
    return client.tableNames();
  });
  await step("create again", async () => {
    await client.createTable("workspace", [row("x", "other")]);
    return "created";
  });
  const table = await client.openTable("workspace");
  await step("add", async () => {
    await table.add([row("c", "tables of numbers")]);
    return (await client.openTable("workspace")).countRows();
  });
  await step("search", () => distances(table, "lazy dog", 4));
  await step("spread of a table", () => Object.keys({ ...table }).includes("close"));
  await step("names in the spread", () => ({ ...table, vectorCount: 3 }).vectorCount);
  await step("rows in JSON", async () => {
    const [found] = await table.vectorSearch(embedded("fox")).limit(1).toArray();
    return JSON.parse(JSON.stringify(found)).vector.length;
  });
  await step("delete", async () => {
    await table.delete("id IN ('a','c')");
    return table.countRows();
  });
  await step("index", async () => {
    await table.createIndex("id", { config: lancedb.Index.btree() });
    return (await table.listIndices()).map(({ name, indexType, columns }) => [name, indexType, columns]);
  });
  await step("drop", async () => {
    await client.dropTable("workspace");
    return client.tableNames();
  });
}
main();
