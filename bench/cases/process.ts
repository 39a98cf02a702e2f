/**
 * Whole processes that begin with the import: what a command-line tool, a test or a function in the cloud
 * pays each time.
 */

import { join } from "node:path";
import { Int32, makeData, makeVector, Table } from "apache-arrow";
import type { BenchCase } from "../case.js";
import { type Contestant, runFresh } from "../runFresh.js";
import { openTiltyard } from "../sides.js";

const SCANNED_ROWS = 200_000;

function freshProcess(step: string, name: string): BenchCase {
  return {
    area: "process",
    name,
    rounds: { small: 1, large: 15 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const rows = size === "large" ? SCANNED_ROWS : 100;
      const ns = openTiltyard(root);
      const data = makeData({
        type: new Int32(),
        length: rows,
        data: Int32Array.from({ length: rows }, (_, row) => row),
      });
      await ns.createTable({ id: ["t"] }, new Table({ id: makeVector(data) }));
      await ns.close();
      const side = (contestant: Contestant) => ({
        name: contestant,
        run: () => runFresh(contestant, step, root),
      });
      return {
        work: { amount: 1, unit: "calls" },
        sides: [side("tiltyard"), side("reference")],
        close: async () => undefined,
      };
    },
  };
}

export const processCases: readonly BenchCase[] = [
  freshProcess("import", "import"),
  freshProcess("count", "import + count"),
  freshProcess("first", "import + first 10 rows"),
  freshProcess("append", "import + append 1,000 rows"),
  freshProcess("scan", "import + scan 200,000 rows"),
];
