/** Position of a table handle whose calls end in another order than they began. */

import { expect, it } from "vitest";
import { Database } from "../../src/lancedb/database.js";
import type { NamespaceCalls } from "../../src/lancedb/tableReader.js";
import { TableState } from "../../src/lancedb/tableState.js";
import { withResolvers } from "../support/deferred.js";

/** Makes a handle at version 1. Its looks see the version `latest`, once `answer` is called. */
function handleBefore(latest: number) {
  const { promise, resolve: answer } = withResolvers();
  const namespace = {
    describeTable: () => promise.then(() => ({ version: latest })),
    tableExists: async () => {},
  } as unknown as NamespaceCalls;
  const database = new Database({ open: () => namespace, uri: "/db", kind: "ListingDatabase" });
  return { answer, table: new TableState(database, { id: ["t"], version: 1, uri: "/db/t.lance" }) };
}

it.each([
  ["an older version", 5, 6],
  ["a later version", 7, 7],
])("a look that sees %s than a change that ended meanwhile moves the handle to the later one", async (_, seen, shown) => {
  const { answer, table } = handleBefore(seen);
  const looking = table.checkoutLatest();
  await table.change(async () => ({ version: 6 }));
  answer();
  await looking;
  expect(await table.version()).toBe(shown);
});

it("a change and a look that end after a checkout leave the handle at the version of the checkout", async () => {
  const { answer, table } = handleBefore(6);
  const { promise, resolve: commit } = withResolvers();
  const changing = table.change(() => promise.then(() => ({ version: 6 })));
  const looking = table.following(async () => {});
  await table.checkout(3);
  commit();
  answer();
  await Promise.all([changing, looking]);
  expect(await table.version()).toBe(3);
  await expect(table.change(async () => ({}))).rejects.toThrow("a specific version is checked out");
});
