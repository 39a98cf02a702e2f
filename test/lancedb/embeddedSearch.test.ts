/** Searches of the drop-in for texts that an embedding function makes vectors of. */

import { expect, it } from "vitest";
import { Float32, Utf8 } from "../../src/lancedb/arrow.js";
import { connect } from "../../src/lancedb/connect.js";
import { EmbeddingFunction, LanceSchema, register } from "../../src/lancedb/embedding/index.js";
import { Index } from "../../src/lancedb/indices.js";
import { AutoQuery } from "../../src/lancedb/query.js";
import { makeTempDir } from "../support/tempDir.js";

/** Counts letters, so that texts with the same ones are near. */
class Letters extends EmbeddingFunction<string> {
  override ndims(): number {
    return 2;
  }
  embeddingDataType(): Float32 {
    return new Float32();
  }
  async computeSourceEmbeddings(texts: string[]): Promise<number[][]> {
    return texts.map((text) => [text.split("a").length - 1, text.split("e").length - 1]);
  }
}
register("letters")(Letters);

async function openTexts() {
  const letters = new Letters();
  const schema = LanceSchema({ text: letters.sourceField(new Utf8()), vector: letters.vectorField() });
  const connection = await connect(await makeTempDir());
  const table = await connection.createTable(
    "texts",
    [{ text: "banana" }, { text: "eel" }, { text: "plum" }],
    { schema },
  );
  return { connection, table };
}

it("a text is embedded, and the nearest rows are found", async () => {
  const { table } = await openTexts();
  const query = table.search("papaya");
  expect(query).toBeInstanceOf(AutoQuery);
  expect((await query.select(["text"]).limit(2).toArray()).map(({ text }) => text)).toEqual([
    "banana",
    "plum",
  ]);
  expect((await table.search("tree", "vector").limit(1).toArray())[0].text).toBe("eel");
  expect((await table.search("tree").outputSchema()).names).toEqual(["text", "vector", "_distance"]);
});

it("words beside an embedded text make a search by both", async () => {
  const { table } = await openTexts();
  await table.createIndex("text", { config: Index.fts() });
  const rows = await table.search("tree").fullTextSearch("plum").select(["text"]).limit(2).toArray();
  expect(rows.map(({ text }) => text).sort()).toEqual(["eel", "plum"]);
});

it("each run decides by the version that the table shows", async () => {
  const { connection, table } = await openTexts();
  const query = table.search("banana").limit(1);
  expect((await query.toArrow()).schema.names).toContain("_distance");
  await connection.createTable("texts", [{ text: "a banana" }], { mode: "overwrite" });
  await table.checkoutLatest();
  await table.createIndex("text", { config: Index.fts() });
  expect((await query.toArrow()).schema.names).toEqual(["text", "_score"]);
  expect(
    await table
      .search("banana", "vector")
      .toArray()
      .catch((error: Error) => error.message),
  ).toMatch(/No embedding functions/);
});
