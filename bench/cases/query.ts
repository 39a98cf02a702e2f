/** Questions to a table of a million rows: filters, counts and orders. */

import { join } from "node:path";
import {
  Field,
  Float64,
  Int32,
  List,
  Struct,
  Table,
  tableFromArrays,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import type { BenchCase, Side } from "../case.js";
import { openReference, openTiltyard } from "../sides.js";

interface Question {
  readonly filter?: string;
  readonly orderBy?: readonly { columnName: string; ascending: boolean; nullsFirst: boolean }[];
  readonly limit?: number;
  readonly columns?: readonly string[];
  readonly isCount?: boolean;
}

const FRAGMENTS = 4;

/** Rows whose numbers are spread evenly, in no order. */
export function rowsFrom(first: number, count: number): Table {
  const spread = (row: number): number => Math.imul(first + row + 1, 2654435761) >>> 0;
  const ints = Int32Array.from({ length: count }, (_, row) => spread(row) % 1_000_000);
  const member = new Struct([new Field("a", new Int32(), true), new Field("b", new Float64(), true)]);
  const list = new List(new Field("item", new Int32(), true));
  const plain = tableFromArrays({ i: ints, f: Float64Array.from(ints, (value) => value / 1000) });
  return plain.assign(
    new Table({
      s: vectorFromArray(
        Array.from(ints, (value) => `name ${String(value).padStart(6, "0")} of row`),
        new Utf8(),
      ),
      w: vectorFromArray(
        Array.from(ints, (value) => `word ${value % 40}`),
        new Utf8(),
      ),
      st: vectorFromArray(
        Array.from(ints, (value) => ({ a: value, b: value / 2 })),
        member,
      ),
      li: vectorFromArray(
        Array.from(ints, (value) => [value % 1000, value % 77]),
        list,
      ),
    }),
  );
}

function ask(name: string, question: Question): BenchCase {
  const { filter, orderBy, limit, isCount = false, columns = ["i", "f", "s"] } = question;
  return {
    area: "read",
    name: `${name}, 1,000,000 rows`,
    // A count is over in few milliseconds.
    rounds: { small: 2, large: isCount ? 25 : 9 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const rowCount = size === "large" ? 1_000_000 / FRAGMENTS : 250;
      const ns = openTiltyard(root);
      for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
        const rows = rowsFrom(fragment * rowCount, rowCount);
        if (fragment === 0) await ns.createTable({ id: ["t"] }, tableToIPC(rows, "stream"));
        else await ns.insertIntoTable({ id: ["t"] }, tableToIPC(rows, "stream"));
      }
      const reference = await openReference(root);
      const table = await reference.openTable("t");
      const theirs = async (): Promise<number> => {
        if (isCount) return table.countRows(filter);
        let query = table.query().select([...columns]);
        if (filter !== undefined) query = query.where(filter);
        if (orderBy !== undefined) query = query.orderBy([...orderBy]);
        if (limit !== undefined) query = query.limit(limit);
        return (await query.toArrow()).numRows;
      };
      const ours = async (): Promise<number> => {
        if (isCount) return ns.countTableRows({ id: ["t"], predicate: filter });
        return (await (await ns.queryTable({ id: ["t"], columns, filter, orderBy, limit })).toArrow())
          .numRows;
      };
      const expected = await theirs();
      const side = (sideName: Side["name"], answer: () => Promise<number>): Side => ({
        name: sideName,
        async run() {
          const result = await answer();
          if (result !== expected) throw new Error(`${result} rows, not ${expected}`);
        },
      });
      return {
        work: { amount: rowCount * FRAGMENTS, unit: "rows" },
        sides: [side("tiltyard", ours), side("reference", theirs)],
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

const inThousand = Array.from({ length: 1000 }, (_, value) => value * 997).join(", ");

export const queryCases: readonly BenchCase[] = [
  ask("order by + limit 10", {
    orderBy: [{ columnName: "i", ascending: false, nullsFirst: false }],
    limit: 10,
  }),
  ask("order by + limit 10, only the key", {
    columns: ["i"],
    orderBy: [{ columnName: "i", ascending: true, nullsFirst: false }],
    limit: 10,
  }),
  ask("order by floats + limit 10, only the key", {
    columns: ["f"],
    orderBy: [{ columnName: "f", ascending: true, nullsFirst: false }],
    limit: 10,
  }),
  ask("order by text + limit 10", {
    orderBy: [{ columnName: "s", ascending: true, nullsFirst: false }],
    limit: 10,
  }),
  ask("filter of 0.1 % on ints", { filter: "i < 1000" }),
  ask("filter of 1 % on ints", { filter: "i < 10000" }),
  ask("filter of 50 % on ints", { filter: "i < 500000" }),
  ask("filter of 0.1 % on floats", { filter: "f < 1.0" }),
  ask("filter of 1 % on floats", { filter: "f < 10.0" }),
  ask("filter of 50 % on floats", { filter: "f < 500.0" }),
  ask("filter of 0.1 % on text", { filter: "s < 'name 001'" }),
  ask("filter of 1 % on text", { filter: "s < 'name 01'" }),
  ask("filter of 50 % on text", { filter: "s < 'name 5'" }),
  ask("filter with LIKE", { filter: "s like '%0077%'" }),
  ask("filter with IN of 1,000 values", { filter: `i in (${inThousand})` }),
  ask("filter on a nested field", { filter: "st.a < 10000" }),
  ask("filter on what a list contains", { filter: "array_has(li, 7)" }),
  ask("count of 1 % on ints", { filter: "i < 10000", isCount: true }),
  ask("count of one of 40 words", { filter: "w = 'word 7'", isCount: true }),
  ask("count with LIKE", { filter: "s like '%0077%'", isCount: true }),
  ask("count with IN of 1,000 values", { filter: `i in (${inThousand})`, isCount: true }),
  ask("count of 1 % on a nested field", { filter: "st.a < 10000", isCount: true }),
  ask("count of what lists contain", { filter: "array_has(li, 7)", isCount: true }),
];
