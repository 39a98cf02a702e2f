/** What a namespace does, it does through HTTP as well: the suites of the class, with a server in between. */

import { describe, vi } from "vitest";

vi.mock("tiltyard", async (importOriginal) => {
  const { RestNamespace } = await import("../support/restNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: RestNamespace };
});

// Each brings hooks of its own, which are to be its own only.
describe("namespaces", async () => {
  await import("../operations/namespaces.test.js");
});
describe("tables that are dropped", async () => {
  await import("../operations/dropTable.test.js");
});
describe("absent options", async () => {
  await import("../operations/absentOptions.test.js");
});
