/** Runs the suites of tables over HTTP. */

import { describe, vi } from "vitest";

vi.mock("tiltyard", async (importOriginal) => {
  const { RestNamespace } = await import("../support/restNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: RestNamespace };
});

// Each suite has its own hooks.
describe("field metadata", async () => {
  await import("../operations/fieldMetadata.test.js");
});
describe("pages of versions", async () => {
  await import("../operations/versionPages.test.js");
});
