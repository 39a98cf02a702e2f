/** The host gets one warning for each job record that lists omit, with the job's id and the reason. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace, type NamespaceWarning } from "tiltyard";
import { expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

it("listJobs warns once about each malformed record, and never about a directory without one", async () => {
  const root = await makeTempDir();
  const warnings: NamespaceWarning[] = [];
  const namespace = new DirectoryNamespace({
    root,
    durability: "none",
    onWarning(warning) {
      warnings.push(warning);
      throw new Error("a host's function may fail");
    },
  });
  try {
    await namespace.createTable({ id: ["t"] }, [{ n: 1 }]);
    const [broken, foreign, empty] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    for (const id of [broken, foreign, empty]) {
      await mkdir(join(root, ".tiltyard-jobs", id), { recursive: true });
    }
    await writeFile(join(root, ".tiltyard-jobs", broken, "job.json"), "{");
    await mkdir(join(root, ".tiltyard-jobs", foreign, "job.json"));
    for (let call = 0; call < 2; call++) expect((await namespace.listJobs()).jobs).toEqual([]);
    await expect.poll(() => warnings.length).toBe(2);
    expect(warnings.map(({ kind }) => kind)).toEqual(["jobNotListed", "jobNotListed"]);
    expect(warnings.map(({ jobId }) => jobId).sort()).toEqual([broken, foreign].sort());
    for (const { jobId, location, message } of warnings) {
      expect(location).toBe(join(root, ".tiltyard-jobs", `${jobId}`));
      expect(message).toContain(`listJobs leaves out job ${jobId} because its record cannot be read`);
    }
  } finally {
    await namespace.close();
  }
});
