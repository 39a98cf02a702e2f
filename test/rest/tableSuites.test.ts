/** Suites of what is done to tables, with a server between them and the class. */

import { describe, vi } from "vitest";

vi.mock("tiltyard", async (importOriginal) => {
  const { RestNamespace } = await import("../support/restNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: RestNamespace };
});

// Each brings hooks of its own, which are to be its own only.
describe("field metadata", async () => {
  await import("../operations/fieldMetadata.test.js");
});
describe("pages of versions", async () => {
  await import("../operations/versionPages.test.js");
});
