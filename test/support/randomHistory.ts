/** Random changes of a table of unique keys `k` and texts `v`, and a model of their effect. */

import fc from "fast-check";
import type { TableHandle } from "tiltyard";

/** The rows of a table: texts by keys. */
export type Rows = ReadonlyMap<number, string>;

export type RandomChange =
  | { readonly kind: "insert" | "merge" | "replace"; readonly keys: readonly number[]; readonly v: string }
  | { readonly kind: "update"; readonly below: number; readonly v: string }
  | { readonly kind: "delete"; readonly below: number }
  | { readonly kind: "optimize" };

const key = fc.integer({ min: 0, max: 15 });
const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 6 });
const v = fc.constantFrom("a", "b", "c");

export const randomChange: fc.Arbitrary<RandomChange> = fc.oneof(
  fc.record({ kind: fc.constantFrom("insert" as const, "merge" as const, "replace" as const), keys, v }),
  fc.record({ kind: fc.constant("update" as const), below: key, v }),
  fc.record({ kind: fc.constant("delete" as const), below: key }),
  fc.record({ kind: fc.constant("optimize" as const) }),
);

/** Makes a change, and returns the rows after it. */
export async function applyChange(table: TableHandle, rows: Rows, change: RandomChange): Promise<Rows> {
  const after = new Map(rows);
  switch (change.kind) {
    case "insert": {
      const fresh = change.keys.filter((k) => !rows.has(k));
      for (const k of fresh) after.set(k, change.v);
      await table.insert(fresh.map((k) => ({ k, v: change.v })));
      return after;
    }
    case "merge":
    case "replace": {
      const isReplace = change.kind === "replace";
      if (isReplace) after.clear();
      for (const k of change.keys) after.set(k, change.v);
      await table.mergeInsert(
        "k",
        change.keys.map((k) => ({ k, v: change.v })),
        {
          whenMatchedUpdateAll: true,
          whenNotMatchedInsertAll: true,
          whenNotMatchedBySourceDelete: isReplace,
        },
      );
      return after;
    }
    case "update": {
      for (const k of rows.keys()) if (k < change.below) after.set(k, change.v);
      await table.update({ where: `k < ${change.below}`, values: { v: change.v } });
      return after;
    }
    case "delete": {
      for (const k of rows.keys()) if (k < change.below) after.delete(k);
      await table.delete(`k < ${change.below}`);
      return after;
    }
    case "optimize": {
      await table.optimize();
      return after;
    }
  }
}
