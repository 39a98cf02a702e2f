/**
 * Searches by vector that compare all rows: 500,000 vectors of 128 dimensions, in clusters as embeddings are.
 */

import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import type { BenchCase, Side, Size } from "../case.js";
import { type Contestant, runFresh } from "../runFresh.js";
import { openReference, openTiltyard } from "../sides.js";
import { DIMENSION, queryVectors, rowsFrom } from "../vectorData.js";

const ROWS: Readonly<Record<Size, number>> = { small: 1000, large: 500_000 };
const FRAGMENTS = 4;
const NEAREST = 10;

interface Question {
  readonly distanceType: "l2" | "cosine";
  readonly filter?: (rowCount: number) => string;
  /** Vectors that are asked about at once; 1 by default. */
  readonly vectors?: number;
}

async function createVectors(ns: ReturnType<typeof openTiltyard>, size: Size): Promise<void> {
  const rowCount = ROWS[size] / FRAGMENTS;
  for (let fragment = 0; fragment < FRAGMENTS; fragment++) {
    const rows = tableToIPC(rowsFrom(fragment * rowCount, rowCount), "stream");
    if (fragment === 0) await ns.createTable({ id: ["t"] }, rows);
    else await ns.insertIntoTable({ id: ["t"] }, rows);
  }
}

function ask(name: string, { distanceType, filter, vectors = 1 }: Question): BenchCase {
  return {
    area: "read",
    name: `${name}, 500,000 × ${DIMENSION}`,
    rounds: { small: 2, large: 9 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const ns = openTiltyard(root);
      await createVectors(ns, size);
      const reference = await openReference(root);
      const table = await reference.openTable("t");
      const next = queryVectors();
      const asked = () => Array.from({ length: vectors }, next);
      const text = filter?.(ROWS[size]);
      const ours = async (): Promise<number> => {
        const request = {
          id: ["t"],
          vector: asked(),
          k: NEAREST,
          distanceType,
          columns: ["id"],
          filter: text,
        };
        return (await (await ns.queryTable(request)).toArrow()).numRows;
      };
      const theirs = async (): Promise<number> => {
        const [first, ...others] = asked();
        let query = table.query().nearestTo(first);
        for (const vector of others) query = query.addQueryVector(vector);
        query = query.distanceType(distanceType).limit(NEAREST).select(["id"]);
        if (text !== undefined) query = query.where(text);
        return (await query.toArrow()).numRows;
      };
      const side = (sideName: Side["name"], answer: () => Promise<number>): Side => ({
        name: sideName,
        async run() {
          const result = await answer();
          const wanted = NEAREST * vectors;
          if (result !== wanted) throw new Error(`${result} rows, not ${wanted}`);
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

/** The first search of a process: it reads all vectors. */
const askFresh: BenchCase = {
  area: "process",
  name: `import + nearest 10 by l2, 500,000 × ${DIMENSION}`,
  rounds: { small: 1, large: 5 },
  async prepare(directory, size) {
    const root = join(directory, "tables");
    const ns = openTiltyard(root);
    await createVectors(ns, size);
    await ns.close();
    const request = { vector: queryVectors()() };
    const side = (name: Contestant): Side => ({ name, run: () => runFresh(name, "nearest", root, request) });
    return {
      work: { amount: 1, unit: "calls" },
      sides: [side("tiltyard"), side("reference")],
      close: async () => undefined,
    };
  },
};

export const vectorSearchCases: readonly BenchCase[] = [
  ask("nearest 10 by l2", { distanceType: "l2" }),
  ask("nearest 10 by cosine", { distanceType: "cosine" }),
  ask("nearest 10 of 1 %", {
    distanceType: "l2",
    filter: (rowCount) => `id % 100 = 7 and id < ${rowCount}`,
  }),
  ask("nearest 10 of each of 64 vectors", { distanceType: "l2", vectors: 64 }),
  askFresh,
];
