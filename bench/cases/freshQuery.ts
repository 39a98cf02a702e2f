/**
 * Questions to a table of a million rows, and changes of it, each by a process that begins with the import.
 */

import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import type { BenchCase, Side } from "../case.js";
import { makeRows } from "../data.js";
import type { FreshRequest } from "../freshProcess.js";
import { restoredSides } from "../restored.js";
import { type Contestant, runFresh } from "../runFresh.js";
import { openTiltyard } from "../sides.js";
import { rowsFrom } from "./query.js";

const ROUNDS = { small: 1, large: 9 } as const;
const WORK = { amount: 1, unit: "calls" } as const;
const COLUMNS = ["i", "f", "s"];

function ask(name: string, step: "query" | "count where", request: FreshRequest): BenchCase {
  return {
    area: "process",
    name: `import + ${name}, 1,000,000 rows`,
    rounds: ROUNDS,
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const ns = openTiltyard(root);
      const rows = rowsFrom(0, size === "large" ? 1_000_000 : 250);
      await ns.createTable({ id: ["t"] }, tableToIPC(rows, "stream"));
      await ns.close();
      const side = (name: Contestant): Side => ({ name, run: () => runFresh(name, step, root, request) });
      return { work: WORK, sides: [side("tiltyard"), side("reference")], close: async () => undefined };
    },
  };
}

/** Each side has a table of its own, which is restored before each run. */
function change(name: string, step: string, request: FreshRequest): BenchCase {
  return {
    area: "process",
    name: `import + ${name}`,
    rounds: ROUNDS,
    async prepare(directory, size) {
      const rows = makeRows(size === "large" ? 1_000_000 : 2000, 0, ["id", "count", "score"]);
      const nothing = async () => undefined;
      const { sides, close } = await restoredSides(directory, rows, { ours: nothing, reference: nothing });
      const folders = { tiltyard: "ours", reference: "reference" } as const;
      const fresh = sides.flatMap((side): Side[] =>
        side.name === "tiltyard" || side.name === "reference"
          ? [
              {
                ...side,
                run: runFresh.bind(null, side.name, step, join(directory, folders[side.name]), request),
              },
            ]
          : [],
      );
      return { work: WORK, sides: fresh, close };
    },
  };
}

export const freshQueryCases: readonly BenchCase[] = [
  ask("filter of 1 % on ints", "query", { filter: "i < 10000", columns: COLUMNS }),
  ask("filter of 1 % on text", "query", { filter: "s < 'name 01'", columns: COLUMNS }),
  ask("count of 1 % on ints", "count where", { filter: "i < 10000" }),
  ask("order by + limit 10", "query", {
    columns: COLUMNS,
    orderBy: [{ columnName: "i", ascending: false, nullsFirst: false }],
    limit: 10,
  }),
  change("delete of 1 % of 1,000,000 rows", "delete", { filter: "count < 10" }),
  change("update of 1 % of 1,000,000 rows", "update", {
    filter: "count < 10",
    updates: { score: "score * 2" },
  }),
  change("merge of 100,000 rows into 1,000,000", "merge", { mergedRows: 100_000 }),
];
