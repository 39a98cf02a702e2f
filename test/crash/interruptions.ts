/**
 * Interrupts an operation at one disk call after another until it succeeds, and checks what a new engine
 * finds. `npm test` interrupts some of the calls, `npm run soak` more.
 */

import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { expect } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { type FaultMode, type FaultyDisk, faultyDisk } from "../support/faultyDisk.js";
import { makeTempDir } from "../support/tempDir.js";

export interface Way {
  readonly title: string;
  readonly mode: FaultMode;
  /** True if all later calls fail too. */
  readonly dead: boolean;
  readonly powerCut: boolean;
  /** Position in its list. */
  readonly index: number;
}

const numbered = (ways: readonly Omit<Way, "index">[]): Way[] =>
  ways.map((way, index) => ({ ...way, index }));

export const ALL_WAYS = numbered([
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "a write is cut short", mode: "short", dead: false, powerCut: false },
  { title: "the process dies", mode: "before", dead: true, powerCut: false },
  { title: "the process dies in the middle of a write", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
]);
export const WRITE_WAYS = numbered(ALL_WAYS.filter(({ title }) => title !== "the process dies"));
/** Ways for operations with few writes. */
export const WAYS = numbered(WRITE_WAYS.filter(({ title }) => title !== "a write is cut short"));

export interface Stage {
  readonly root: string;
  restore(): Promise<void>;
}

/** Prepares a directory in place: branches refer to their source by an absolute path. */
export async function stage(prepare: (root: string) => Promise<unknown>): Promise<Stage> {
  const base = await makeTempDir();
  const [parent, template] = [join(base, "inner"), join(base, "template")];
  const root = join(parent, "root");
  await mkdir(root, { recursive: true });
  await prepare(root);
  await cp(parent, template, { recursive: true, preserveTimestamps: true });
  const restore = async () => {
    await rm(parent, { recursive: true });
    await cp(template, parent, { recursive: true, preserveTimestamps: true });
  };
  return { root, restore };
}

export async function withNamespace<T>(
  root: string,
  work: (ns: DirectoryNamespace) => Promise<T>,
): Promise<T> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  return await work(ns);
}

export interface Operation<Answer> {
  readonly stride: number;
  /** First call to interrupt. Default the index of the way. */
  readonly first?: number;
  readonly options?: object;
  /** Wraps the disk that fails. */
  readonly wrap?: (disk: Disk) => Disk;
  /** True if an engine whose disk has failed need not close without an error. */
  readonly closeMayFail?: boolean;
  /** Runs before calls can fail. */
  readonly setUp?: (writer: DirectoryNamespace, disk: FaultyDisk) => Promise<unknown>;
  readonly run: (writer: DirectoryNamespace, disk: FaultyDisk) => Promise<Answer>;
}

export interface Interruption<Answer> {
  /** Answer of the operation; null if it failed. */
  readonly acknowledged: { readonly answer: Answer } | null;
  readonly round: number;
  readonly call: string | undefined;
  readonly tripped: boolean;
  readonly where: string;
}

/** Interrupts an operation in one way, until no call fails, and checks the directory after each time. */
export async function interrupt<Answer>(
  { root, restore }: Stage,
  { title, mode, dead, powerCut, index }: Way,
  { stride, first = index, options, wrap = (disk) => disk, closeMayFail, setUp, run }: Operation<Answer>,
  check: (interruption: Interruption<Answer>) => Promise<unknown>,
): Promise<void> {
  for (let round = 0, isDone = false; !isDone; round++) {
    await restore();
    const disk = faultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
    const writer = new DirectoryNamespace({ root, disk: wrap(disk), ...options });
    await setUp?.(writer, disk);
    disk.heal();
    const failing = (first % stride) + round * stride;
    disk.failAt(failing, mode, { dead });
    const acknowledged = await run(writer, disk).then(
      (answer) => ({ answer }),
      (error: unknown) => {
        expect(error, String(error)).toBeInstanceOf(NamespaceError);
        return null;
      },
    );
    const { tripped } = disk;
    const call = disk.log[failing];
    const where = `${title} ${failing}: ${call}`;
    await writer.close().catch((error) => {
      if (!tripped || !closeMayFail) throw error;
    });
    await disk.restart();
    if (powerCut) await disk.loseUnsynced();
    await check({ acknowledged, round, call, tripped, where });
    await disk.dispose();
    isDone = !tripped;
    if (isDone) expect(acknowledged, where).not.toBeNull();
  }
}

type Step = (ns: DirectoryNamespace, root: string) => Promise<unknown>;

interface Steps<State> {
  readonly stride: number;
  /** Factor of a way's index in its first interrupted call. Default 1. */
  readonly spread?: number;
  /** Steps of the operation: others may see the first ones alone. */
  readonly steps: readonly Step[];
  readonly stateOf: (root: string) => Promise<State>;
  /** Checks what an interruption left, before the remaining steps are taken. */
  readonly checkLeft?: (interruption: Interruption<unknown>, way: Way, isDone: boolean) => Promise<unknown>;
  /** Checks the directory with all steps taken. */
  readonly checkDone?: (interruption: Interruption<unknown>) => Promise<unknown>;
}

/**
 * Interrupts steps in all {@link WAYS}. The state afterwards is one before, between or after the steps, the
 * last one if they were acknowledged, and the remaining steps can be taken.
 */
export async function expectStates<State>(
  stage: Stage,
  { stride, spread = 1, steps, stateOf, checkLeft, checkDone }: Steps<State>,
): Promise<void> {
  const { root, restore } = stage;
  await restore();
  const states = [await stateOf(root)];
  for (const step of steps) {
    await withNamespace(root, (ns) => step(ns, root));
    states.push(await stateOf(root));
  }
  const after = states[steps.length];
  expect(after).not.toEqual(states[0]);
  const run = async (ns: DirectoryNamespace, taken = 0) => {
    for (const step of steps.slice(taken)) await step(ns, root);
  };
  for (const way of WAYS) {
    const seen = { before: 0, after: 0 };
    const operation = { stride, first: spread * way.index, run: (ns: DirectoryNamespace) => run(ns) };
    await interrupt(stage, way, operation, async (interruption) => {
      const { acknowledged, where } = interruption;
      const state = await stateOf(root);
      expect(acknowledged ? [after] : states, where).toContainEqual(state);
      const taken = states.findIndex((each) => isDeepStrictEqual(each, state));
      seen[taken === steps.length ? "after" : "before"]++;
      await checkLeft?.(interruption, way, taken === steps.length);
      await withNamespace(root, (ns) => run(ns, taken));
      expect(await stateOf(root), where).toEqual(after);
      await checkDone?.(interruption);
    });
    expect(seen.before, way.title).toBeGreaterThan(0);
    expect(seen.after, way.title).toBeGreaterThan(0);
  }
}
