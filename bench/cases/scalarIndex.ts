/**
 * Scalar indexes of a million rows: building them, and questions that they answer. Both sides ask the same
 * index.
 */

import { join } from "node:path";
import { Field, List, Table, tableFromArrays, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { Index } from "tiltyard-reference/session.js";
import type { BenchCase, Side, Size } from "../case.js";
import { type Contestant, runFresh } from "../runFresh.js";
import { type Connection, openReference, openTiltyard } from "../sides.js";

const ROWS: Readonly<Record<Size, number>> = { small: 1000, large: 1_000_000 };
export const rowCountOf = (size: Size): number => ROWS[size];
const FRAGMENTS = 4;

type Column = "i" | "wide" | "stamp" | "kind" | "state" | "labels";

const KINDS = {
  BTREE: () => Index.btree(),
  BITMAP: () => Index.bitmap(),
  LABEL_LIST: () => Index.labelList(),
} as const;
type Kind = keyof typeof KINDS;

const INDEXES: readonly (readonly [Column, Kind])[] = [
  ["i", "BTREE"],
  ["kind", "BITMAP"],
  ["state", "BITMAP"],
  ["labels", "LABEL_LIST"],
];

/**
 * Numbers below a million in no order, integers of 64 bits in no order, ascending times, 100 kinds, 40
 * states, and one or two of 1,000 labels.
 */
export function rowsFrom(first: number, count: number): Table {
  const spread = (row: number): number => Math.imul(first + row + 1, 2_654_435_761) >>> 0;
  const i = Int32Array.from({ length: count }, (_, row) => spread(row) % 1_000_000);
  const list = new List(new Field("item", new Utf8(), true));
  const rows = tableFromArrays({
    i,
    wide: BigInt64Array.from(i, (_, row) => (BigInt(spread(row)) << 31n) ^ BigInt(spread(row + 7))),
    stamp: BigInt64Array.from(i, (_, row) => 1_700_000_000_000n + BigInt(997 * (first + row))),
    kind: Int32Array.from(i, (value) => value % 100),
    state: Int32Array.from(i, (value) => Math.floor(value / 100) % 40),
  });
  const labels = Array.from(i, (value) => [`label ${value % 1000}`, `label ${value % 77}`]);
  const names = Array.from(i, (value) => `name ${String(value).padStart(6, "0")} of row`);
  return rows.assign(
    new Table({ name: vectorFromArray(names, new Utf8()), labels: vectorFromArray(labels, list) }),
  );
}

export async function createRows(ns: DirectoryNamespace, name: string, size: Size): Promise<void> {
  const rowCount = ROWS[size] / FRAGMENTS;
  for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
    const rows = tableToIPC(rowsFrom(fragment * rowCount, rowCount), "stream");
    if (fragment === 0) await ns.createTable({ id: [name] }, rows);
    else await ns.insertIntoTable({ id: [name] }, rows);
  }
}

export async function createIndex(
  ns: DirectoryNamespace,
  name: string,
  column: Column,
  kind: Kind,
): Promise<void> {
  const { jobId } = await ns.createTableIndex({ id: [name], column, indexType: kind });
  await ns.waitForJob({ jobId });
}

// ------------------------------------------------------------------------------------------------- building

function build(column: Column, kind: Kind, label = ""): BenchCase {
  return {
    area: "write",
    name: `build ${kind}${label}, 1,000,000 rows`,
    // Nothing is collected first: a run takes 0.1 to 0.4 s, and a collection drops compiled code that each
    // would make again.
    rounds: { small: 1, large: 9 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const ns = openTiltyard(root);
      const reference = await openReference(root);
      await createRows(ns, "ours", size);
      await createRows(ns, "theirs", size);
      const name = `${column}_idx`;
      const table = await reference.openTable("theirs");
      const dropped = async (id: string): Promise<void> => {
        const { indexes } = await ns.listTableIndices({ id: [id] });
        if (indexes.length > 0) await ns.dropTableIndex({ id: [id], indexName: name });
      };
      return {
        work: { amount: ROWS[size], unit: "rows" },
        sides: [
          {
            name: "tiltyard",
            reset: () => dropped("ours"),
            run: () => createIndex(ns, "ours", column, kind),
          },
          {
            name: "reference",
            reset: () => dropped("theirs"),
            run: () => table.createIndex(column, { config: KINDS[kind]() }),
          },
        ],
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

// ------------------------------------------------------------------------------------------------- asking

interface Question {
  readonly name: string;
  /** Another filter for every number, where a side asks for other rows each time. */
  readonly filter: (asked: number) => string;
  /** Calls that are timed, a tenth as many before them. Default: 40. */
  readonly rounds?: number;
}

const RETURNED = ["i", "kind", "state", "name"];
const inThousand = Array.from({ length: 1000 }, (_, value) => value * 997).join(", ");

const QUESTIONS: readonly Question[] = [
  {
    name: "point lookup",
    filter: (asked) => `i = ${(asked * 7919) % 1_000_000}`,
    // A call takes half a millisecond: until its code is compiled takes many.
    rounds: 1000,
  },
  { name: "range of 5 %", filter: () => "i >= 300000 and i < 350000" },
  { name: "IN of 1,000 values", filter: () => `i in (${inThousand})` },
  { name: "AND of two bitmaps", filter: () => "kind = 7 and state = 11" },
  { name: "query by label", filter: () => "array_has_any(labels, ['label 7', 'label 500'])" },
];

async function createIndexed(
  directory: string,
  size: Size,
): Promise<{ ns: DirectoryNamespace; reference: Connection; root: string }> {
  const root = join(directory, "tables");
  const ns = openTiltyard(root);
  await createRows(ns, "t", size);
  for (const [column, kind] of INDEXES) await createIndex(ns, "t", column, kind);
  return { ns, reference: await openReference(root), root };
}

function warm({ name, filter, rounds = 40 }: Question): BenchCase {
  return {
    area: "read",
    name: `${name}, indexed, 1,000,000 rows`,
    rounds: { small: 2, large: rounds },
    async prepare(directory, size) {
      const { ns, reference } = await createIndexed(directory, size);
      const table = await reference.openTable("t");
      const theirs = async (asked: string): Promise<number> =>
        (await table.query().select(RETURNED).where(asked).toArrow()).numRows;
      const ours = async (asked: string): Promise<number> => {
        const result = await ns.queryTable({ id: ["t"], columns: RETURNED, filter: asked });
        return (await result.toArrow()).numRows;
      };
      const expected = await theirs(filter(0));
      const side = (sideName: Side["name"], answer: (asked: string) => Promise<number>): Side => {
        let asked = 0;
        return {
          name: sideName,
          async run() {
            const text = filter(asked++);
            const result = await answer(text);
            if (text === filter(0) && result !== expected) {
              throw new Error(`${text}: ${result} rows, not ${expected}`);
            }
          },
        };
      };
      return {
        work: { amount: 1, unit: "calls" },
        sides: [side("tiltyard", ours), side("reference", theirs)],
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

function fresh({ name, filter }: Question): BenchCase {
  return {
    area: "process",
    name: `import + ${name}, indexed`,
    rounds: { small: 1, large: 9 },
    async prepare(directory, size) {
      const { ns, reference, root } = await createIndexed(directory, size);
      await ns.close();
      reference.close();
      const side = (contestant: Contestant): Side => ({
        name: contestant,
        run: () => runFresh(contestant, "query", root, { filter: filter(0) }),
      });
      return {
        work: { amount: 1, unit: "calls" },
        sides: [side("tiltyard"), side("reference")],
        close: async () => undefined,
      };
    },
  };
}

export const indexCases: readonly BenchCase[] = [
  build("i", "BTREE"),
  build("wide", "BTREE", " of int64"),
  build("stamp", "BTREE", " of int64 in order"),
  build("kind", "BITMAP"),
  build("labels", "LABEL_LIST"),
  ...QUESTIONS.map(warm),
  ...QUESTIONS.map(fresh),
];
