/** Sources of record batches: what they take, how often they can be read, and how they end. */

import { type RecordBatch, RecordBatchReader, tableToIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { makeArrowTable } from "../../src/lancedb/arrow.js";
import { connect } from "../../src/lancedb/connect.js";
import { type BatchSource, Scannable } from "../../src/lancedb/scannable.js";
import { nativeModule } from "../support/nativeLancedb.js";

const { Scannable: Native } = nativeModule<{ Scannable: typeof Scannable }>("scannable");

const table = makeArrowTable([{ id: 1 }, { id: 2 }]);
const { schema, batches } = table;

async function* generated(): AsyncGenerator<RecordBatch> {
  yield* batches;
}

const rowsOf = async (source: Scannable): Promise<number> => {
  let rows = 0;
  for await (const { numRows } of source.inner.scan()) rows += numRows;
  return rows;
};

const statedBy = async (made: Promise<Scannable>) => {
  const { numRows, rescannable } = await made;
  return { numRows, rescannable };
};

describe("Scannable", () => {
  it.each<[string, (Kind: typeof Scannable) => Promise<Scannable>]>([
    ["a table", (Kind) => Kind.fromTable(table)],
    ["an array", (Kind) => Kind.fromIterable(schema, batches)],
    ["an array that is rescannable", (Kind) => Kind.fromIterable(schema, batches, { rescannable: true })],
    ["a generator", (Kind) => Kind.fromIterable(schema, generated(), { numRows: 2 })],
    ["a factory", (Kind) => Kind.fromFactory(schema, () => batches)],
    ["a factory for one scan", (Kind) => Kind.fromFactory(schema, () => batches, { rescannable: false })],
  ])("of %s states what LanceDB's states", async (_, make) => {
    expect(await statedBy(make(Scannable))).toEqual(await statedBy(make(Native)));
    expect(await rowsOf(await make(Scannable))).toBe(2);
  });

  it.each<[string, (Kind: typeof Scannable) => Promise<Scannable>]>([
    ["a wrong number of rows", (Kind) => Kind.fromTable(table, { numRows: 3 })],
    ["a table that is not rescannable", (Kind) => Kind.fromTable(table, { rescannable: false })],
    [
      "a generator that is rescannable",
      (Kind) => Kind.fromIterable(schema, generated(), { rescannable: true }),
    ],
    ["a negative number of rows", (Kind) => Kind.fromFactory(schema, () => [], { numRows: -1 })],
    ["a fraction of a row", (Kind) => Kind.fromFactory(schema, () => [], { numRows: 0.5 })],
  ])("refuses %s as LanceDB does", async (_, make) => {
    await expect(make(Scannable)).rejects.toThrow(Error);
    await expect(make(Native)).rejects.toThrow(Error);
  });

  it("reads any kind of iterable and iterator", async () => {
    const raw = { next: () => generator.next(), [Symbol.toStringTag]: "raw" };
    const generator = generated();
    const sources: BatchSource[] = [batches, new Set(batches), generated(), raw, batches.values()];
    for (const source of sources)
      expect(await rowsOf(await Scannable.fromFactory(schema, () => source))).toBe(2);
    const reader = RecordBatchReader.from(tableToIPC(table)).open() as RecordBatchReader;
    expect(await rowsOf(await Scannable.fromRecordBatchReader(reader))).toBe(2);
  });

  it("can be read again only if it says so", async () => {
    const rescannable = await Scannable.fromTable(table);
    expect([await rowsOf(rescannable), await rowsOf(rescannable)]).toEqual([2, 2]);
    const once = await Scannable.fromIterable(schema, generated());
    expect(await rowsOf(once)).toBe(2);
    await expect(rowsOf(once)).rejects.toThrow("it can be read once");
  });

  it("refuses what has no schema", async () => {
    await expect(Scannable.fromFactory(null as never, () => [])).rejects.toThrow("Expected a Schema");
    const closed = RecordBatchReader.from(tableToIPC(table));
    await expect(rowsOf(await Scannable.fromRecordBatchReader(closed))).rejects.toThrow(
      "call its method open()",
    );
  });

  it("fails when a scan begins if there is nothing to iterate, and with the error of its source", async () => {
    const none = await Scannable.fromIterable(schema, null as never);
    await expect(rowsOf(none)).rejects.toThrow("must yield record batches");
    const gone = new Error("the source is gone");
    const failing = await Scannable.fromFactory(schema, () => {
      throw gone;
    });
    await expect(rowsOf(failing)).rejects.toBe(gone);
  });

  it("is not opened for a call that is refused, and closed after one that reads it", async () => {
    const connection = await connect("memory://");
    const numbers = await connection.createTable("numbers", table);
    const texts = await connection.createTable("texts", [{ text: "a" }]);
    const events: string[] = [];
    const source = () =>
      Scannable.fromFactory(schema, async function* () {
        events.push("opened");
        try {
          yield* batches;
        } finally {
          events.push("closed");
        }
      }) as Promise<never>;
    await expect(connection.createTable("numbers", await source())).rejects.toThrow("already exists");
    await expect(connection.createTable("a/b", await source())).rejects.toThrow("Invalid table name");
    await connection.createTable("numbers", await source(), { existOk: true });
    await expect(connection.createTable("texts", await source(), { existOk: true })).rejects.toThrow(
      "Provided schema does not match",
    );
    await numbers.checkout(1);
    await expect(numbers.add(await source())).rejects.toThrow("cannot be modified");
    expect(events).toEqual([]);
    await expect(texts.add(await source())).rejects.toThrow("different schema");
    expect(events).toEqual(["opened", "closed"]);
  });

  it("without batches makes a table without rows", async () => {
    const connection = await connect("memory://");
    const none = (await Scannable.fromIterable(schema, [])) as never;
    const created = await connection.createTable("none", none);
    expect([await created.countRows(), (await created.schema()).names]).toEqual([0, ["id"]]);
    await created.add((await Scannable.fromTable(table)) as never);
    expect(await created.countRows()).toBe(2);
  });
});
