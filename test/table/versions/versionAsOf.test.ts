/** Finds versions by time, also when the clocks of writers disagreed, against a search of all versions. */

import { readFile, writeFile } from "node:fs/promises";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { describe, expect } from "vitest";
import { TableVersionNotFoundError } from "../../../src/errors.js";
import { Timestamp } from "../../../src/format/table.js";
import { decodeManifestFile } from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { it } from "../../support/fixtures.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";

const id = ["t"];
const rowsOf = (n: number) => tableToIPC(tableFromArrays({ n: [n] }));

/** Writes another commit time into a manifest, as a writer with a wrong clock would have. */
async function setCommitTime(path: string, millis: number): Promise<void> {
  const file = decodeManifestFile(await readFile(path), path);
  const timestamp = Timestamp.create({ seconds: Math.floor(millis / 1000), nanos: (millis % 1000) * 1e6 });
  const { chunks } = encodeManifestFile({
    manifest: { ...file.manifest, timestamp },
    indexSectionBytes: file.indexSectionBytes,
    transactionBytes: file.transactionBytes,
  });
  await writeFile(path, Buffer.concat(chunks));
}

/** Makes a table whose versions have these commit times; version n has n rows. */
async function tableOf(root: string, times: readonly number[], branch?: string): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, [{ n: 1 }]);
  if (branch !== undefined) await ns.createTableBranch({ id, name: branch });
  for (let n = 2; n <= times.length; n++) await ns.insertIntoTable({ id, branch }, [{ n }]);
  const { versions } = await ns.listTableVersions({ id, branch });
  for (const { version, manifestPath } of versions) await setCommitTime(manifestPath, times[version - 1]);
}

describe("asOf", () => {
  it("finds the highest version that is not later, for any clocks of the writers", async () => {
    const time = fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_040 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(time, { minLength: 1, maxLength: 40 }),
        fc.boolean(),
        fc.array(time, { minLength: 5, maxLength: 5 }),
        async (times, onBranch, moments) => {
          const root = await makeTempDir();
          const branch = onBranch ? "dev" : undefined;
          await tableOf(root, times, branch);
          await using ns = new DirectoryNamespace({ root });
          for (const moment of moments) {
            const expected = times.findLastIndex((millis) => millis <= moment) + 1;
            const counting = ns.countTableRows({ id, branch, asOf: new Date(moment) });
            if (expected > 0) expect(await counting).toBe(expected);
            else {
              const oldest = new Date(times[0]).toISOString();
              await expect(counting).rejects.toThrow(TableVersionNotFoundError);
              await expect(counting).rejects.toThrow(`the oldest is version 1, of ${oldest}`);
            }
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it("finds versions that the reference committed", async ({ root }) => {
    await reference.createTable(root, "t", rowsOf(1));
    await reference.appendTable(root, "t", rowsOf(2));
    await using ns = new DirectoryNamespace({ root });
    const { versions } = await ns.listTableVersions({ id });
    expect(versions.length).toBeGreaterThan(1);
    for (const { version, timestampMillis } of versions) {
      expect(await ns.table("t", { asOf: new Date(timestampMillis) }).version()).toBe(version);
    }
  });

  it("a cleanup moves the oldest version that the error names", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root });
    await ns.createTable({ id }, [{ n: 1 }]);
    await ns.insertIntoTable({ id }, [{ n: 2 }]);
    await ns.cleanupTable({ id, olderThanMs: 0 });
    await expect(ns.countTableRows({ id, asOf: "2001-01-01T00:00:00Z" })).rejects.toThrow(
      "the oldest is version 2",
    );
  });
});
