/** Cleanups of versions that were replaced before a moment. */

import { InvalidInputError } from "tiltyard";
import { describe, expect, it } from "../support/fixtures.js";
import { rowsOf } from "../support/intRows.js";
import { WORLDS } from "../support/restNamespace.js";
import { makeTempDir } from "../support/tempDir.js";

describe.each(WORLDS)("a cleanup of %s", (_, openWorld) => {
  it("removes versions that were replaced before a moment, and keeps later ones", async () => {
    await using ns = openWorld(await makeTempDir());
    const id = ["t"];
    await ns.createTable({ id }, rowsOf(1));
    await ns.insertIntoTable({ id }, rowsOf(2));
    const pause = () => new Promise((resolve) => setTimeout(resolve, 30));
    await pause();
    const moment = new Date();
    await pause();
    await ns.insertIntoTable({ id }, rowsOf(3));
    await ns.insertIntoTable({ id }, rowsOf(4));
    const versions = async () => (await ns.listTableVersions({ id })).versions.map(({ version }) => version);
    const old = await ns.cleanupTable({
      id,
      olderThan: new Date(moment.getTime() - 86_400_000).toISOString(),
    });
    expect(old).toMatchObject({ versionsRemoved: 0 });
    await ns.cleanupTable({ id, olderThan: moment.toISOString() });
    // Version 2 was replaced after the moment.
    expect((await versions()).sort()).toEqual([2, 3, 4]);
    await ns.cleanupTable({ id, olderThan: new Date(Date.now() + 60_000).toISOString() });
    expect(await versions()).toEqual([4]);
    for (const members of [
      { olderThan: "yesterday" },
      { olderThan: "2026-01-01" },
      { olderThan: moment.toISOString(), olderThanMs: 1 },
    ]) {
      await expect(ns.cleanupTable({ id, ...members })).rejects.toThrow(InvalidInputError);
    }
  });
});

it("a cleanup takes a Date, also as a job", async ({ ns }) => {
  await ns.createTable({ id: "t" }, [{ n: 1 }]);
  await ns.insertIntoTable({ id: "t" }, [{ n: 2 }]);
  const started = await ns.cleanupTable({
    id: "t",
    olderThan: new Date(Date.now() + 1000),
    background: true,
  });
  const { jobId } = started as { readonly jobId: string };
  expect((await ns.waitForJob({ jobId })).state).toBe("Succeeded");
  expect((await ns.table("t").versions()).length).toBe(1);
  await ns.insertIntoTable({ id: "t" }, [{ n: 3 }]);
  await ns.table("t").cleanup({ olderThan: new Date() });
});
