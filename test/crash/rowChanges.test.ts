/** Deletes, updates and merges rows while disk calls fail: see crashLoop. */

import { ID, prepared, rowsOf, type Scenario, STRIDE, testCrashes } from "./crashLoop.js";

const UPDATE: Omit<Scenario, "name"> = {
  ...prepared,
  run: (namespace) =>
    namespace.updateTable({
      id: ID,
      predicate: "v != 2",
      updates: [
        ["v", "v + 10"],
        ["s", "CAST(v + 10 AS STRING)"],
      ],
    }),
  after: { version: 3, rows: [2, 11, 13] },
};

const MERGE: Omit<Scenario, "name"> = {
  ...prepared,
  run: (namespace) =>
    namespace.mergeInsertIntoTable(
      { id: ID, on: "v", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
      rowsOf(2, 3, 4),
    ),
  after: { version: 3, rows: [1, 2, 3, 4] },
};

testCrashes([
  {
    name: "delete",
    ...prepared,
    run: (namespace) => namespace.deleteFromTable({ id: ID, predicate: "v = 2" }),
    after: { version: 3, rows: [1, 3] },
  },
  {
    name: "delete of all rows of a fragment",
    ...prepared,
    run: (namespace) => namespace.deleteFromTable({ id: ID, predicate: "v <= 2" }),
    after: { version: 3, rows: [3] },
  },
  {
    name: "update",
    ...UPDATE,
  },
  {
    name: "merge",
    ...MERGE,
  },
  {
    name: "update of rows that keep their ids",
    ...UPDATE,
    stableRowIds: true,
  },
  {
    name: "merge into rows that keep their ids",
    ...MERGE,
    stableRowIds: true,
  },
  {
    name: "merge that adds some rows and deletes others",
    ...prepared,
    run: (namespace) =>
      namespace.mergeInsertIntoTable(
        { id: ID, on: "v", whenNotMatchedInsertAll: true, whenNotMatchedBySourceDelete: true },
        rowsOf(2, 4),
      ),
    after: { version: 3, rows: [2, 4] },
  },
  {
    name: "delete twice of one fragment, with a bitmap",
    prepared: true,
    setUp: async (namespace) => {
      const many = Array.from({ length: 6000 }, (_, index) => 100 + index);
      await namespace.insertIntoTable({ id: ID, mode: "overwrite" }, rowsOf(...many, 1, 2));
    },
    run: async (namespace) => {
      await namespace.deleteFromTable({ id: ID, predicate: "v >= 101" });
      await namespace.deleteFromTable({ id: ID, predicate: "v = 1" });
    },
    before: { version: 3, rows: [...Array.from({ length: 6000 }, (_, index) => 100 + index), 1, 2] },
    between: { version: 4, rows: [100, 1, 2] },
    after: { version: 5, rows: [100, 2] },
    stride: STRIDE,
  },
]);
