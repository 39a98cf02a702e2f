/** Searches by vector that compare all rows: 500,000 vectors of 128 dimensions, in clusters as embeddings are. */

import { join } from "node:path";
import { Field, FixedSizeList, Float32, Int32, makeData, Table, tableToIPC, Vector } from "apache-arrow";
import type { BenchCase, Side, Size } from "../case.js";
import { openReference, openTiltyard } from "../sides.js";

const DIMENSION = 128;
const ROWS: Readonly<Record<Size, number>> = { small: 1000, large: 500_000 };
const FRAGMENTS = 4;
const CLUSTERS = 200;
const NEAREST = 10;

/** Numbers from -1 to 1, the same for the same seed. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state / 2 ** 31;
  };
}

function vectorsFrom(first: number, count: number): Float32Array {
  const centre = numbersFrom(7);
  const centres = Float32Array.from({ length: CLUSTERS * DIMENSION }, centre);
  const next = numbersFrom(first + 1);
  const values = new Float32Array(count * DIMENSION);
  for (let row = 0; row < count; row++) {
    const start = Math.floor(Math.abs(next()) * CLUSTERS) * DIMENSION;
    for (let index = 0; index < DIMENSION; index++) {
      values[row * DIMENSION + index] = centres[start + index] + next() * 0.4;
    }
  }
  return values;
}

function rowsFrom(first: number, count: number): Table {
  const type = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));
  const values = vectorsFrom(first, count);
  const child = makeData({ type: new Float32(), length: values.length, data: values });
  const vectors = makeData({ type, length: count, child });
  const ids = makeData({
    type: new Int32(),
    length: count,
    data: Int32Array.from({ length: count }, (_, row) => first + row),
  });
  return new Table({ id: new Vector([ids]), v: new Vector([vectors]) });
}

interface Question {
  readonly distanceType: "l2" | "cosine";
  readonly filter?: (rowCount: number) => string;
}

function ask(name: string, { distanceType, filter }: Question): BenchCase {
  return {
    area: "read",
    name: `${name}, 500,000 × ${DIMENSION}`,
    rounds: { small: 2, large: 9 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const ns = openTiltyard(root);
      const rowCount = ROWS[size] / FRAGMENTS;
      for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
        const rows = tableToIPC(rowsFrom(fragment * rowCount, rowCount), "stream");
        if (fragment === 0) await ns.createTable({ id: ["t"] }, rows);
        else await ns.insertIntoTable({ id: ["t"] }, rows);
      }
      const reference = await openReference(root);
      const table = await reference.openTable("t");
      const queries = vectorsFrom(12_345, 64);
      let asked = 0;
      const next = (): number[] => {
        const start = (asked++ % 64) * DIMENSION;
        return [...queries.subarray(start, start + DIMENSION)];
      };
      const text = filter?.(ROWS[size]);
      const ours = async (): Promise<number> => {
        const request = {
          id: ["t"],
          vector: next(),
          k: NEAREST,
          distanceType,
          columns: ["id"],
          filter: text,
        };
        return (await (await ns.queryTable(request)).toArrow()).numRows;
      };
      const theirs = async (): Promise<number> => {
        let query = table.query().nearestTo(next()).distanceType(distanceType).limit(NEAREST).select(["id"]);
        if (text !== undefined) query = query.where(text);
        return (await query.toArrow()).numRows;
      };
      const side = (own: Side["name"], answer: () => Promise<number>): Side => ({
        name: own,
        async run() {
          const found = await answer();
          if (found !== NEAREST) throw new Error(`${found} rows, not ${NEAREST}`);
        },
      });
      return {
        work: { amount: ROWS[size], unit: "rows" },
        sides: [side("tiltyard", ours), side("reference", theirs)],
        async close() {
          await ns.close();
          reference.close();
        },
      };
    },
  };
}

export const vectorSearchCases: readonly BenchCase[] = [
  ask("nearest 10 by l2", { distanceType: "l2" }),
  ask("nearest 10 by cosine", { distanceType: "cosine" }),
  ask("nearest 10 of 1 %", {
    distanceType: "l2",
    filter: (rowCount) => `id % 100 = 7 and id < ${rowCount}`,
  }),
];
