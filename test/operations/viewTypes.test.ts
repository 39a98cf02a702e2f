/** Every operation that accepts Arrow accepts rows with view types, which Lance does not have. */

import { readFileSync } from "node:fs";
import { Binary, BinaryView, Field, Int64, Schema, Struct, tableFromIPC, Utf8, Utf8View } from "apache-arrow";
import type { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import { afterAll, beforeAll, describe, expect, it } from "../support/fixtures.js";
import { WORLDS } from "../support/restNamespace.js";
import { makeTempDir } from "../support/tempDir.js";

const fixture = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`../arrow/exchange/foreign/${name}`, import.meta.url)));
const stream = fixture("polars.arrows");
const file = fixture("polars_zstd.arrow");
const texts: unknown[] = (
  JSON.parse(
    readFileSync(new URL("../arrow/exchange/foreign/polars.rows", import.meta.url), "utf8"),
  ) as readonly { readonly text: string | null }[]
).map(({ text }) => text);

describe.each(WORLDS)("view types with %s", (_, open) => {
  let namespace: DirectoryNamespace;
  beforeAll(async () => {
    namespace = open(await makeTempDir());
  });
  afterAll(() => namespace.close());

  const textsOf = async (name: string): Promise<unknown[]> => {
    const result = await namespace.queryTable({ id: [name], k: 100, columns: ["text"] });
    return (await result.toArray()).map((row) => (row as { text: string | null }).text);
  };

  it("new tables and inserted rows store view types as types without views", async () => {
    await namespace.createTable({ id: ["made"] }, stream);
    await namespace.insertIntoTable({ id: ["made"] }, file);
    await namespace.insertIntoTable({ id: ["made"] }, tableFromIPC(stream));
    expect(await textsOf("made")).toEqual([...texts, ...texts, ...texts]);
    await namespace.insertIntoTable({ id: ["made"], mode: "Overwrite" }, file);
    expect(await textsOf("made")).toEqual(texts);
  });

  it("view types match columns without views in a merge", async () => {
    await namespace.createTable({ id: ["merged"] }, stream);
    await namespace.deleteFromTable({ id: ["merged"], predicate: "number < 5" });
    const result = await namespace.mergeInsertIntoTable(
      { id: ["merged"], on: "number", whenNotMatchedInsertAll: true, whenMatchedUpdateAll: true },
      file,
    );
    expect([result.numInsertedRows, result.numUpdatedRows].map(Number)).toEqual([5, 5]);
    expect((await textsOf("merged")).sort()).toEqual([...texts].sort());
  });

  it.each(["list_view", "large_list_view"])("of lists become lists: %s", async (name) => {
    const rows = JSON.parse(
      readFileSync(new URL(`../arrow/exchange/foreign/pyarrow_${name}.rows`, import.meta.url), "utf8"),
    ) as readonly { readonly before: number; readonly numbers: unknown; readonly nested: unknown }[];
    const expected = rows.map(({ before, numbers, nested }) => ({ before, numbers, nested }));
    const listsOf = async (): Promise<unknown> => {
      const result = await namespace.queryTable({
        id: [name],
        k: 100,
        columns: ["before", "numbers", "nested"],
      });
      return JSON.parse(JSON.stringify(await result.toArray()));
    };
    await namespace.createTable({ id: [name] }, fixture(`pyarrow_${name}.arrows`));
    expect(await listsOf()).toEqual(expected);
    await namespace.insertIntoTable({ id: [name] }, fixture(`pyarrow_${name}.arrow`));
    expect(await listsOf()).toEqual([...expected, ...expected]);
    await namespace.insertIntoTable(
      { id: [name], mode: "Overwrite" },
      fixture(`pyarrow_${name}_zstd.arrows`),
    );
    await namespace.deleteFromTable({ id: [name], predicate: "before < 3" });
    const merge = { id: [name], on: "before", whenNotMatchedInsertAll: true, whenMatchedUpdateAll: true };
    const { numInsertedRows } = await namespace.mergeInsertIntoTable(merge, fixture(`pyarrow_${name}.arrow`));
    expect(Number(numInsertedRows)).toBe(3);
    const merged = (await listsOf()) as readonly { readonly before: number }[];
    expect([...merged].sort((left, right) => left.before - right.before)).toEqual(expected);
  });

  it("unsupported view types change nothing", async () => {
    await namespace.createTable({ id: ["kept"] }, stream);
    const runs = fixture("pyarrow_runs.arrows");
    for (const call of [
      () => namespace.createTable({ id: ["new"] }, runs),
      () => namespace.insertIntoTable({ id: ["kept"] }, runs),
      () =>
        namespace.mergeInsertIntoTable({ id: ["kept"], on: "number", whenNotMatchedInsertAll: true }, runs),
    ]) {
      await expect(call()).rejects.toMatchObject({
        type: "Unsupported",
        message: expect.stringContaining("column outer.runs: type RunEndEncoded"),
      });
    }
    expect(await textsOf("kept")).toEqual(texts);
    await expect(namespace.describeTable({ id: ["new"] })).rejects.toMatchObject({ type: "TableNotFound" });
  });
});

it("a schema of view types for objects creates columns without views", async ({ ns }) => {
  const schema = new Schema([
    new Field("number", new Int64(), true),
    new Field(
      "record",
      new Struct([new Field("text", new Utf8View(), true), new Field("bytes", new BinaryView(), true)]),
      true,
    ),
  ]);
  await ns.createTable({ id: ["t"], schema }, [
    { number: 1n, record: { text: "a", bytes: Uint8Array.of(1) } },
  ]);
  const table = tableFromIPC(await ns.table("t").scan().toIPC());
  expect(String(table.schema.fields[1].type)).toBe(
    String(new Struct([new Field("text", new Utf8(), true), new Field("bytes", new Binary(), true)])),
  );
  expect(table.get(0)?.record.text).toBe("a");
});
