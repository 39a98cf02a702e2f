/** Runs the suites of the class over HTTP. */

import { describe, vi } from "vitest";

vi.mock("tiltyard", async (importOriginal) => {
  const { RestNamespace } = await import("../support/restNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: RestNamespace };
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
