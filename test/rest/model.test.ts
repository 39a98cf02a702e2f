/** The model of a namespace over HTTP: two servers on one directory behave like plain maps. */

import { vi } from "vitest";

vi.mock("tiltyard", async (importOriginal) => {
  const { RestNamespace } = await import("../support/restNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: RestNamespace };
});

process.env.MODEL_RUNS ??= "3";
await import("../model/namespace.test.js");
