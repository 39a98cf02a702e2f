/** Runs suites of the class on a disk like an object store. */

import { describe, vi } from "vitest";

vi.mock("tiltyard", async (importOriginal) => {
  const { StoreNamespace } = await import("../support/storeNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: StoreNamespace };
});

// Each suite has its own hooks.
describe("namespaces", async () => {
  await import("../operations/namespaces.test.js");
});
describe("tables that are dropped", async () => {
  await import("../operations/dropTable.test.js");
});
describe("field metadata", async () => {
  await import("../operations/fieldMetadata.test.js");
});
describe("pages of versions", async () => {
  await import("../operations/versionPages.test.js");
});
describe("row changes", async () => {
  await import("../operations/rowChanges.test.js");
});
describe("handles", async () => {
  await import("../handle.test.js");
});
describe("changes of versions", async () => {
  await import("../operations/versionChanges.test.js");
});
describe("time travel", async () => {
  await import("../operations/timeTravel.test.js");
});
describe("jobs", async () => {
  await import("../operations/jobs.test.js");
});
describe("transactions", async () => {
  await import("../operations/transactions.test.js");
});
describe("indexes", async () => {
  await import("../operations/indexes.test.js");
});
