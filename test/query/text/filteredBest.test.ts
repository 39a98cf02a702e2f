/** The best filtered rows are the first of all filtered rows, for any numbers of wanted and selected rows. */

import { beforeAll, expect, it } from "vitest";
import { sharedNamespace } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";

const ROWS = 20_000;
const namespace = sharedNamespace();
beforeAll(async () => {
  const rows = Array.from({ length: ROWS }, (_, id) => {
    const drawn = Math.imul(id + 1, 2_654_435_761) >>> 0;
    const often = "often ".repeat(drawn % 4);
    return { id, t: `${often}${drawn % 16 < 3 ? "seldom" : ""} ${"pad ".repeat(drawn % 37)}` };
  });
  const id = ["t"];
  await namespace.createTable({ id }, rows.slice(0, ROWS / 2));
  await namespace.insertIntoTable({ id }, rows.slice(ROWS / 2));
  await buildIndex(namespace, { id, column: "t", indexType: "FTS", stem: false });
  await namespace.deleteFromTable({ id, predicate: "id % 11 = 5" });
});

it.each([
  "seldom",
  "often",
  "seldom often",
  "absent",
])("a filtered search returns the best rows: %s", async (terms) => {
  for (const filter of ["id % 2 = 1", "id % 10 = 3", "id % 700 = 9", "id >= 0", "id < 0"]) {
    const asked = namespace
      .table("t")
      .query()
      .matching({ match: { terms, column: "t" } })
      .where(filter)
      .select(["id"]);
    const all = await asked.toArray();
    for (const limit of [1, 10, 129, 400, 1000, 4000]) {
      expect(await asked.limit(limit).toArray()).toEqual(all.slice(0, limit));
      expect(await asked.limit(limit).offset(limit).toArray()).toEqual(all.slice(limit, 2 * limit));
    }
  }
});
