/** Shows the gain of threads for writing and reading texts: "tiltyard" has two, "tiltyard, plain" none. */

import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import type { BenchCase, Side } from "../case.js";
import { makeRows } from "../data.js";
import { tiltyardTable } from "../sides.js";

const ROUNDS = { small: 1, large: 15 } as const;
const TABLE = { id: ["t"] };

/** @param run takes the step that is timed, in a namespace that has the table of all texts */
function texts(
  area: BenchCase["area"],
  name: string,
  run: (ns: DirectoryNamespace, rows: ReturnType<typeof tiltyardTable>) => Promise<void>,
): BenchCase {
  return {
    area,
    name,
    rounds: ROUNDS,
    isApart: true,
    // A run hands out or takes some 40 MB. Whether V8 collects them in the next run or between two would
    // decide the figures.
    collectFirst: true,
    async prepare(directory, size) {
      const rows = tiltyardTable(makeRows(size === "large" ? 1_000_000 : 1000, 1, ["label"]));
      const opened: DirectoryNamespace[] = [];
      const side = async (sideName: Side["name"], workers: number): Promise<Side> => {
        const root = join(directory, `workers ${workers}`);
        const ns = new DirectoryNamespace({ root, durability: "none", workers });
        opened.push(ns);
        await ns.createTable(TABLE, rows);
        return { name: sideName, run: () => run(ns, rows) };
      };
      return {
        work: { amount: rows.numRows, unit: "rows" },
        sides: [await side("tiltyard", 2), await side("tiltyard, plain", 0)],
        async close() {
          for (const ns of opened) await ns.close();
        },
      };
    },
  };
}

export const threadCases: readonly BenchCase[] = [
  texts("write", "write of 1,000,000 texts with two threads", async (ns, rows) => {
    await ns.createTable({ id: ["written"], mode: "Overwrite" }, rows);
  }),
  texts("read", "scan of 1,000,000 texts with two threads", async (ns, rows) => {
    const result = (await (await ns.queryTable(TABLE)).toArrow()).numRows;
    if (result !== rows.numRows) throw new Error(`${result} rows instead of ${rows.numRows}`);
  }),
];
