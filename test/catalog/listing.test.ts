/** Listings of the root by a namespace that keeps what it saw, beside listings by a new one. */

import { setTimeout } from "node:timers/promises";
import { Table, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "../support/fixtures.js";

const NAMES = ["a", "b", "c"] as const;
const CHANGES = ["create", "drop", "deregister", "register", "declare", "insert"] as const;

const steps = fc.array(
  fc.record({
    name: fc.constantFrom(...NAMES),
    change: fc.constantFrom(...CHANGES),
    // Finer than the grain of directory times, or coarser, so that looks are kept.
    pauseMs: fc.constantFrom(0, 0, 60),
  }),
  { minLength: 4, maxLength: 14 },
);

describe("a listing of the root", () => {
  it("equals that of a new namespace after any changes by others", async ({ open }) => {
    const rows = new Table({ x: vectorFromArray([1, 2, 3]) });
    const [reader, writer] = [open(), open()];
    const changes = {
      create: (name: string) => writer.createTable({ id: [name] }, rows),
      drop: (name: string) => writer.dropTable({ id: [name] }),
      deregister: (name: string) => writer.deregisterTable({ id: [name] }),
      register: (name: string) => writer.registerTable({ id: [name], location: `${name}.lance` }),
      declare: (name: string) => writer.declareTable({ id: [name] }),
      insert: (name: string) => writer.insertIntoTable({ id: [name] }, rows),
    };
    await fc.assert(
      fc.asyncProperty(steps, async (run) => {
        for (const { name, change, pauseMs } of run) {
          // Most changes are refused in most states.
          await changes[change](name).catch(() => undefined);
          await setTimeout(pauseMs);
          const fresh = open();
          for (const includeDeclared of [true, false]) {
            const wanted = await fresh.listTables({ includeDeclared });
            expect(await reader.listTables({ includeDeclared })).toEqual(wanted);
            expect(await reader.listTables({ includeDeclared })).toEqual(wanted);
          }
          await fresh.close();
        }
      }),
      { numRuns: 10 },
    );
  });
});
