/** Merging a LABEL_LIST index, the reference keeps changed rows under their old items; we recheck them. */

import { Table, tableToIPC, Utf8 } from "apache-arrow";
import { Index } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { columnsOf, int32s, listOf } from "../support/arrowColumns.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { buildIndex, foundHere, foundThere, withReference } from "../support/indexedTable.js";
import { reference } from "../support/reference.js";

const root = sharedDirectory();
const namespace = sharedNamespace({ root });

const ROWS = 100;
const ids = Array.from({ length: ROWS }, (_, id) => id);

it.each([
  "us",
  "them",
])("rows that changed are found by what they hold now, in an index made by %s", async (maker) => {
  const name = `labels_${maker}`;
  const labels = listOf(new Utf8());
  const rows = new Table({
    id: int32s(ids),
    v: columnsOf(labels)(ids.map((id) => (id % 10 === 7 ? null : [`l${id % 5}`]))),
  });
  await reference.createTable(root, name, tableToIPC(rows), { stableRowIds: true });
  if (maker === "us") await buildIndex(namespace, { id: [name], column: "v", indexType: "LABEL_LIST" });
  else await withReference(root, name, (table) => table.createIndex("v", { config: Index.labelList() }));
  await reference.updateRows(root, name, { v: "make_array('new')" }, "id % 10 = 2 OR id % 20 = 7");
  await reference.optimizeTable(root, name);
  const stats = await namespace.describeTableIndexStats({ id: [name], indexName: "v_idx" });
  expect(stats).toMatchObject({ numIndexedRows: ROWS, numUnindexedRows: 0 });

  const wasTwo = ids.filter((id) => id % 5 === 2 && id % 10 !== 7);
  const isTwo = wasTwo.filter((id) => id % 10 !== 2);
  const isNew = ids.filter((id) => id % 10 === 2 || id % 20 === 7);
  const isNull = ids.filter((id) => id % 20 === 17);
  // Once the reference finds the new rows, we may trust such an index again.
  expect(await foundThere(root, name, "array_has(v, 'l2')")).toEqual(wasTwo);
  for (const [filter, expected] of [
    ["array_has(v, 'l2')", isTwo],
    ["NOT array_has(v, 'l2')", ids.filter((id) => !isTwo.includes(id) && !isNull.includes(id))],
    ["array_has(v, 'new')", isNew],
    ["array_has_all(v, ['l2', 'new'])", []],
    ["v IS NULL", isNull],
    ["v IS NOT NULL", ids.filter((id) => !isNull.includes(id))],
  ] as const) {
    expect(await foundHere(namespace, name, filter), filter).toEqual(expected);
  }
  await namespace.insertIntoTable({ id: [name] }, [{ id: ROWS, v: ["l2"] }]);
  await namespace.optimizeTable({ id: [name] });
  expect(await foundHere(namespace, name, "array_has(v, 'l2')")).toEqual([...isTwo, ROWS]);
  expect(await foundHere(namespace, name, "v IS NULL")).toEqual(isNull);
});
