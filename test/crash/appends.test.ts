/** Appends rows while disk calls fail: see crashLoop. */

import { NamespaceError } from "tiltyard";
import { ID, prepared, rowsOf, STRIDE, testCrashes } from "./crashLoop.js";

/** Yields rows in two batches; `happens` runs before the second one. */
async function* slowRows(values: readonly [number, number], happens: () => Promise<unknown>) {
  yield rowsOf(values[0]).batches[0];
  await happens();
  yield rowsOf(values[1]).batches[0];
}

testCrashes([
  {
    name: "append",
    ...prepared,
    run: (namespace) => namespace.insertIntoTable({ id: ID }, rowsOf(9)),
    after: { version: 3, rows: [1, 2, 3, 9] },
  },
  {
    name: "append slowly, while another appends",
    ...prepared,
    run: (namespace, secondEngine) =>
      namespace.insertIntoTable(
        { id: ID },
        slowRows([8, 9], () => secondEngine.insertIntoTable({ id: ID }, rowsOf(5))),
      ),
    between: { version: 3, rows: [1, 2, 3, 5] },
    after: { version: 4, rows: [1, 2, 3, 5, 8, 9] },
    stride: STRIDE,
  },
  {
    name: "append slowly, while another drops the table and creates it anew",
    ...prepared,
    run: async (namespace, secondEngine) => {
      let isMade = false;
      const rows = slowRows([8, 9], async () => {
        await secondEngine.dropTable({ id: ID });
        await secondEngine.createTable({ id: ID }, rowsOf(5));
        isMade = true;
      });
      const inserted = namespace.insertIntoTable({ id: ID }, rows);
      await inserted.catch((error) => {
        if (!isMade || !(error instanceof NamespaceError)) throw error;
      });
    },
    between: null,
    after: { version: 1, rows: [5] },
    stride: STRIDE,
  },
]);
