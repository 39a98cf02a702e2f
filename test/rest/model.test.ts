/** The model of a namespace, through HTTP: two servers on one directory do what plain maps do. */

import { vi } from "vitest";

vi.mock("tiltyard", async (importOriginal) => {
  const { RestNamespace } = await import("../support/restNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: RestNamespace };
});

process.env.MODEL_RUNS ??= "3";
await import("../model/namespace.test.js");
