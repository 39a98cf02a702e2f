/**
 * The program decides about signals while the built package holds a lock, as it would without the package.
 */

import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { exitOf, nextMessage, startProcess } from "../../support/childProcess.js";
import { makeTempDir } from "../../support/tempDir.js";

type What = "once" | "on" | "notice" | "signal-exit";
type When = "imported" | "lock" | "later";

interface Outcome {
  readonly ended: number | string;
  /** Notes of the program, in alphabetical order. */
  readonly notes: readonly string[];
  readonly locks: readonly string[];
}

async function locksBelow(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true });
  return names.filter((each) => path.basename(each) === ".tiltyard.lock");
}

/** Sends SIGTERM to a program that holds a lock. */
async function signalled(form: "esm" | "cjs", ways: readonly (readonly [What, When])[]): Promise<Outcome> {
  const directory = await makeTempDir();
  await mkdir(path.join(directory, "tables"));
  const child = startProcess("signalledHost.mjs", [directory, form, JSON.stringify(ways)]);
  expect(await nextMessage(child)).toBe("holding");
  expect(await locksBelow(path.join(directory, "tables", ".tiltyard-jobs"))).toHaveLength(1);
  child.kill("SIGTERM");
  const ended = await exitOf(child);
  const notes = path.join(directory, "notes.txt");
  const text = existsSync(notes) ? await readFile(notes, "utf8") : "";
  const noted = text.split("\n").filter((line) => line !== "");
  return { ended, notes: noted.sort(), locks: await locksBelow(directory) };
}

const MOMENTS: readonly When[] = ["imported", "lock", "later"];

// On Windows, every signal from another process kills the program.
describe.skipIf(process.platform === "win32").each(["esm", "cjs"] as const)("a program in %s", (form) => {
  it.each(
    MOMENTS.flatMap((when) => (["once", "on"] as const).map((what) => [what, when] as const)),
  )("cleans up in its handler: %s, %s", async (what, when) => {
    expect(await signalled(form, [[what, when]])).toEqual({ ended: 3, notes: ["cleaned up"], locks: [] });
  });

  it("cleans up beside one-time handlers", async () => {
    const ways = MOMENTS.map((when) => ["notice", when] as const);
    expect(await signalled(form, [...ways, ["once", "imported"]])).toEqual({
      ended: 3,
      notes: ["cleaned up", "noticed", "noticed", "noticed"],
      locks: [],
    });
  });

  it("ends with the signal if it has no handler", async () => {
    expect(await signalled(form, [])).toEqual({ ended: "SIGTERM", notes: [], locks: [] });
  });

  it.each(MOMENTS)("uses signal-exit itself, and has no handler: %s", async (when) => {
    expect(await signalled(form, [["signal-exit", when]])).toEqual({
      ended: "SIGTERM",
      notes: ["signal-exit SIGTERM"],
      locks: [],
    });
  });

  it.each(MOMENTS)("uses signal-exit itself, and cleans up: %s", async (when) => {
    const outcome = await signalled(form, [
      // In the other order, signal-exit would end the program early even without the engine.
      ["signal-exit", when],
      ["once", when],
    ]);
    expect(outcome).toEqual({ ended: 3, notes: ["cleaned up", "signal-exit null"], locks: [] });
  });
});
