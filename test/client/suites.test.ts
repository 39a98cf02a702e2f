/** Runs suites of the class on the client of a server. */

import { describe, vi } from "vitest";

vi.mock("tiltyard", async (importOriginal) => {
  const { ClientNamespace } = await import("../support/clientNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: ClientNamespace };
});

// Each suite has its own hooks.
describe("namespaces", async () => {
  await import("../operations/namespaces.test.js");
});
describe("tables that are dropped", async () => {
  await import("../operations/dropTable.test.js");
});
describe("absent options", async () => {
  await import("../operations/absentOptions.test.js");
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
describe("rows as objects", async () => {
  await import("../operations/objects.test.js");
});
describe("handles", async () => {
  await import("../handle.test.js");
});
