/** Rows and blobs by row id and offset, compared with the reference over random tables and lists. */

import { Field, Int32, LargeBinary, Schema, Struct, Utf8 } from "apache-arrow";
import fc from "fast-check";
import type { DirectoryNamespace } from "tiltyard";
import { connect } from "tiltyard-reference/session.js";
import { describe, expect, it } from "../support/fixtures.js";

const id = ["t"];

/** Changes of a table of rows with the numbers from 0. */
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("append" as const), rows: fc.integer({ min: 1, max: 12 }) }),
    fc.record({ kind: fc.constant("delete" as const), modulo: fc.integer({ min: 2, max: 7 }) }),
    fc.record({ kind: fc.constant("update" as const), modulo: fc.integer({ min: 2, max: 7 }) }),
    fc.record({ kind: fc.constant("compact" as const) }),
  ),
  { minLength: 1, maxLength: 6 },
);
const positions = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 12 });

type Step = typeof steps extends fc.Arbitrary<(infer Each)[]> ? Each : never;

async function change(ns: DirectoryNamespace, history: readonly Step[]): Promise<void> {
  let next = 10;
  for (const step of history) {
    if (step.kind === "append") {
      await ns.insertIntoTable(
        { id },
        Array.from({ length: step.rows }, () => ({ n: next++, s: `s${next}` })),
      );
    } else if (step.kind === "delete") {
      await ns.deleteFromTable({ id, predicate: `n % ${step.modulo} = 1` });
    } else if (step.kind === "update") {
      await ns.updateTable({ id, where: `n % ${step.modulo} = 0`, valuesSql: { s: "s || '!'" } });
    } else await ns.optimizeTable({ id });
  }
}

describe.each([true, false])("with stable row ids: %s", (stableRowIds) => {
  it("takeTableRows returns the rows that LanceDB returns, in its order", { timeout: 300_000 }, async ({
    open,
    root,
  }) => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(steps, positions, positions, async (history, chosen, offsets) => {
        const directory = `${root}/${round++}`;
        const ns = open({ root: directory });
        const first = Array.from({ length: 10 }, (_, n) => ({ n, s: `s${n}` }));
        await ns.createTable({ id, stableRowIds }, first);
        await change(ns, history);
        const rows = await ns
          .table(id)
          .scan({ columns: ["n", "_rowid"] })
          .toArray();
        const known = rows.map(({ _rowid }) => _rowid as bigint);
        // Some ids are those of no row.
        const rowIds = chosen.map((position) => known[position] ?? BigInt(position) + (1n << 33n));
        const connection = await connect(directory, { readConsistencyInterval: 0 });
        const theirs = await connection.openTable("t");
        const shown = (taken: readonly unknown[]) =>
          taken.map((row) => {
            const { n, s, _rowid } = row as { n: number; s: string; _rowid: bigint };
            return `${n} ${s} ${_rowid}`;
          });
        const byId = await ns.takeTableRows({ id, rowIds, withRowId: true });
        expect(shown(await byId.toArray())).toEqual(
          shown(await theirs.takeRowIds(rowIds).withRowId().toArray()),
        );
        const byOffset = await ns.takeTableRows({ id, offsets, withRowId: true });
        expect(shown(await byOffset.toArray())).toEqual(
          shown(await theirs.takeOffsets(offsets).withRowId().toArray()),
        );
        connection.close();
        await ns.close();
      }),
      { numRuns: 25 },
    );
  });

  it("takeBlobs returns the bytes that LanceDB returns", async ({ ns, theirs }) => {
    const type = new Struct([new Field("data", new LargeBinary(), true), new Field("uri", new Utf8(), true)]);
    const metadata = new Map([["ARROW:extension:name", "lance.blob.v2"]]);
    const schema = new Schema([new Field("n", new Int32(), false), new Field("b", type, true, metadata)]);
    const rows = [3, null, 0, 70_000, 9].map((size, n) => ({
      n,
      b: size === null ? null : { data: new Uint8Array(size).fill(n + 1), uri: null },
    }));
    await ns.createTable({ id, schema, stableRowIds }, rows);
    await ns.insertIntoTable({ id }, [{ n: 5, b: { data: new Uint8Array([7]), uri: null } }]);
    await ns.deleteFromTable({ id, predicate: "n = 2" });
    const found = await ns
      .table(id)
      .scan({ columns: ["n", "_rowid"] })
      .toArray();
    const rowIds = [5, 3, 1, 3, 0].map((n) => found.find((row) => row.n === n)?._rowid as bigint);
    const lazy = await ns.takeBlobs({ id, column: "b", rowIds });
    const read = await Promise.all(lazy.map(async (blob) => (await blob?.read()) ?? null));
    const expected = await (await theirs.openTable("t")).fetchBlobs("b", rowIds);
    expect(read.map((bytes) => bytes && Buffer.from(bytes).toString("hex"))).toEqual(
      expected.map((bytes) => bytes && Buffer.from(bytes).toString("hex")),
    );
  });
});
