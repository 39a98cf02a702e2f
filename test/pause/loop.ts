/**
 * Pause loop: an operation (the victim) pauses before or after each of its disk calls in turn, while another
 * process (the rival) changes the same table. The result must equal a serial order of the acknowledged
 * operations (oracle.ts), readable by both engines. No lock or temporary file may remain.
 *
 * `npm run soak` runs more cases than `npm test`. The message of a failed case has its numbers:
 * `PAUSE_CASE="<victim>; <rival>; <call>; <moment>; <locks>"` runs it alone.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { DirectoryImage } from "../support/directoryImage.js";
import { strideOf } from "../support/effort.js";
import { type PauseMoment, PausingDisk } from "../support/pausingDisk.js";
import { reference } from "../support/reference.js";
import { RivalEngine } from "../support/rivalEngine.js";
import { makeTempDir } from "../support/tempDir.js";
import { KNOWN } from "./known.js";
import { answerOf, type Ending, type Looseness, latestOf, type Outcome, SerialOrders } from "./oracle.js";
import { type Refusal, type Rival, rivalsOf, type Scene } from "./rivals.js";
import {
  ageLocks,
  type Beginning,
  contentOf,
  isRoot,
  leftoversIn,
  locksIn,
  otherRowsOf,
  prepare,
  rowsOf,
  type State,
  stateOf,
  type TableId,
  textOf,
} from "./world.js";

const STRIDE = strideOf("PAUSE_STRIDE", 1499);
/** First case of the stride. */
const OFFSET = Number(process.env.PAUSE_OFFSET ?? 0);
const ONLY = process.env.PAUSE_CASE?.split(";").map((part) => part.trim());
/** Timeout of all cases of one victim. */
const TIMEOUT_MS = 4 * 60 * 60 * 1000;
/** Milliseconds that a rival may wait for a lock. */
const WAIT_MS = 25;
/** Milliseconds after which a rival without a lock to wait for counts as waiting. */
const PATIENCE_MS = 5000;

export interface Victim {
  readonly name: string;
  /** Initial tables; rivals act on the first, unless `contested` names others. */
  readonly world: readonly (readonly [id: TableId, beginning: Beginning])[];
  /** Tables that rivals act on. Default: the first. */
  readonly contested?: readonly TableId[];
  /** Runs before the victim, which gets its result. */
  prepare?(root: string): Promise<string>;
  run(ns: DirectoryNamespace, prepared: string): Promise<unknown>;
  /** Warms up the engine's caches of the table. */
  warmUp?(ns: DirectoryNamespace): Promise<unknown>;
  /** Names of rivals that do not apply. */
  readonly without?: readonly string[];
  /** Allowed difference from the result of a serial order. */
  readonly looseness?: Looseness;
}

export type Run = (ns: DirectoryNamespace, id: TableId, prepared: string) => Promise<unknown>;

export const victim = (
  name: string,
  id: TableId,
  beginning: Beginning,
  run: Run,
  more: Partial<Victim> = {},
): Victim => ({ name, world: [[id, beginning]], run: (ns, prepared) => run(ns, id, prepared), ...more });

type Locks = "fresh" | "stale";

interface Case {
  readonly victim: Victim;
  readonly rival: Rival;
  readonly callIndex: number;
  readonly moment: PauseMoment;
  readonly locks: Locks;
}

const titleOf = ({ victim, rival, callIndex, moment, locks }: Case): string =>
  [victim.name, rival.name, callIndex, moment, locks].join("; ");

/** Directory in which the cases of one file run, one after the other. */
class Stage {
  readonly root: string;
  readonly engine: RivalEngine;
  readonly #templates = new Map<string, DirectoryImage>();
  readonly #serial = new Map<string, SerialOrders>();
  readonly refusals = new Map<string, number>();

  constructor(base: string) {
    this.root = join(base, "root");
    this.engine = new RivalEngine();
  }

  async set(victim: Victim): Promise<void> {
    const key = JSON.stringify(victim.world);
    let template = this.#templates.get(key);
    if (template === undefined) this.#templates.set(key, (template = await this.#makeTemplate(victim)));
    template.layOut();
  }

  /** Prepare in place: branches refer to their source by an absolute path. */
  async #makeTemplate({ world }: Victim): Promise<DirectoryImage> {
    await rm(this.root, { recursive: true, force: true });
    const ns = new DirectoryNamespace({ root: this.root, durability: "none" });
    await ns.createNamespace({ id: ["far"] });
    for (const [id, beginning] of world) await prepare(ns, id, beginning);
    if (world.some(([, beginning]) => beginning === "absent" || beginning === "hidden"))
      await ns.createTable({ id: ["other"] }, rowsOf(9));
    await ns.close();
    return new DirectoryImage(this.root);
  }

  /** Counts the calls of the victim without a rival. */
  async countCalls(victim: Victim): Promise<number> {
    await this.set(victim);
    const prepared = (await victim.prepare?.(this.root)) ?? "";
    const pausing = new PausingDisk(new NodeDisk({ durability: "none" }));
    await using ns = new DirectoryNamespace({ root: this.root, disk: pausing.disk });
    await victim.warmUp?.(ns);
    pausing.stopAt(-1, "before");
    await victim.run(ns, prepared);
    const { calls } = pausing;
    return calls;
  }

  async #setBoth(victim: Victim, rival: Rival): Promise<{ prepared: string; scene: Scene }> {
    await this.set(victim);
    const { root, engine } = this;
    const prepared = (await victim.prepare?.(root)) ?? "";
    return { prepared, scene: { root, engine, prepared: (await rival.prepare?.(root)) ?? "" } };
  }

  async play(each: Case): Promise<string[]> {
    const { victim, rival, callIndex, moment, locks } = each;
    const { prepared, scene } = await this.#setBoth(victim, rival);
    if (rival.by === "ours") await this.engine.open(this.root);
    const pausing = new PausingDisk(new NodeDisk({ durability: "none" }));
    const ns = new DirectoryNamespace({ root: this.root, disk: pausing.disk });
    await victim.warmUp?.(ns);
    pausing.stopAt(callIndex, moment);
    const running = outcomeOf(victim.run(ns, prepared));
    await Promise.race([pausing.stopped, running]);
    const call = `${pausing.log[callIndex] ?? "after its last call"}`.replaceAll(this.root, "");

    if (locks === "stale") await ageLocks(this.root);
    else if ((await locksIn(this.root)).length === 0) {
      // No lock can go stale: the other case is identical.
      pausing.release();
      await running;
      await ns.close();
      return [];
    }
    const rivalry = takeSteps(rival, scene);
    const waits = locks === "fresh" && rival.by === "ours";
    await Promise.race([rivalry, sleep(waits ? WAIT_MS : PATIENCE_MS)]);
    pausing.release();
    const [victimOutcome, rivalOutcomes] = [await running, await rivalry];
    await ns.close();

    this.#note(victim.name, victimOutcome);
    for (const outcome of rivalOutcomes) this.#note(rival.name, outcome);
    const outcomes = `${tell(victimOutcome)} | ${rivalOutcomes.map(tell).join(", ")}`;
    const wrong = await this.#judge(each, victimOutcome, rivalOutcomes);
    return wrong.map((what) => `${titleOf(each)} [${call}] (${outcomes}): ${what}`);
  }

  #note(name: string, outcome: Outcome): void {
    if (!("error" in outcome)) return;
    const message = String((outcome.error as Error).message)
      .replaceAll(this.root, "")
      .replace(/[0-9a-f-]{20,}/g, "…");
    const key = `${name}: ${(outcome.error as { type?: string }).type ?? outcome.error}: ${message}`;
    this.refusals.set(key, (this.refusals.get(key) ?? 0) + 1);
  }

  async #judge(each: Case, victim: Outcome, rival: readonly Outcome[]): Promise<string[]> {
    const wrong: string[] = [];
    // A temporary file that moved with its directory is unreachable for its maker; a cleanup removes it.
    const goesAlong = (name: string) =>
      each.rival.name.startsWith("rename") && /^[^/]+\/\.tmp-[^/]*$/.test(name);
    const orphans = (await leftoversIn(this.root)).filter((name) => !goesAlong(name));
    if (orphans.length > 0) wrong.push(`left behind: ${orphans}`);
    // The holder may remove its lock meanwhile.
    for (const lock of await locksIn(this.root)) await rm(lock, { recursive: true, force: true });
    const note = (error: unknown): void => {
      wrong.push(String(error));
    };
    const ns = new DirectoryNamespace({ root: this.root, durability: "none", lock: { retries: 200 } });
    try {
      const state = await stateOf(ns);
      await checkReference(this.root, state).catch(note);
      await goOn(ns, state).catch(note);
      const ending = { victim: answerOf(victim), rival: rival.map(answerOf), state };
      const right = await this.#ordersOf(each).mismatch(ending, loosenessOf(each));
      if (right !== null) {
        const endings = [ending, ...right].map((one) => JSON.stringify(one));
        wrong.push(`no serial order leads to\n${endings.join("\nbut to\n")}`);
      }
    } catch (error) {
      note(error);
    } finally {
      await ns.close();
    }
    wrong.push(...unforeseenIn([victim, ...rival]));
    return wrong;
  }

  #ordersOf({ victim, rival }: Case): SerialOrders {
    const key = `${victim.name}; ${rival.name}`;
    let orders = this.#serial.get(key);
    if (orders === undefined) {
      orders = new SerialOrders((acknowledged, victimAt) =>
        this.#playSerially(victim, rival, acknowledged, victimAt),
      );
      this.#serial.set(key, orders);
    }
    return orders;
  }

  async #playSerially(
    victim: Victim,
    rival: Rival,
    acknowledged: readonly boolean[],
    victimAt: number | null,
  ): Promise<Ending | null> {
    const { prepared, scene } = await this.#setBoth(victim, rival);
    await this.engine.open(this.root);
    const ns = new DirectoryNamespace({ root: this.root, durability: "none" });
    await victim.warmUp?.(ns);
    const steps = rival.steps.filter((_, index) => acknowledged[index]);
    const outcomes: Outcome[] = [];
    let victimOutcome: Outcome | null = null;
    for (let index = 0; index <= steps.length; index++) {
      if (index === victimAt) victimOutcome = await outcomeOf(victim.run(ns, prepared));
      if (index < steps.length) outcomes.push(await outcomeOf(steps[index].take(scene)));
    }
    await ns.close();
    if ([victimOutcome, ...outcomes].some((outcome) => outcome !== null && "error" in outcome)) return null;
    const reader = new DirectoryNamespace({ root: this.root, durability: "none" });
    const state = await stateOf(reader);
    await reader.close();
    const answers = outcomes.map(answerOf);
    return {
      victim: victimOutcome === null ? undefined : answerOf(victimOutcome),
      rival: acknowledged.map((each) => (each ? answers.shift() : undefined)),
      state,
    };
  }

  async end(): Promise<void> {
    await this.engine.end();
  }
}

/** Returns refusals by errors that the engine did not foresee. */
const unforeseenIn = (outcomes: readonly Outcome[]): string[] =>
  outcomes
    .map((outcome) => ("error" in outcome ? (outcome.error as Partial<Refusal>) : {}))
    .filter(({ type }) => type === "Internal" || type === "CorruptFile")
    .map((error) => `unforeseen: ${error}`);

function loosenessOf({ victim, rival }: Case): Looseness {
  const names = rival.steps.map(({ name }) => name);
  if (names.includes("optimizeTable")) return "latest";
  return victim.looseness ?? (names.includes("cleanupTable") ? "more" : "none");
}

async function takeSteps(rival: Rival, scene: Scene): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const step of rival.steps) outcomes.push(await outcomeOf(step.take(scene)));
  return outcomes;
}

const outcomeOf = (running: Promise<unknown>): Promise<Outcome> =>
  running.then(
    (ok) => ({ ok }),
    (error: unknown) => ({ error }),
  );

const tell = (outcome: Outcome): string =>
  "ok" in outcome ? "done" : `refused: ${String((outcome.error as Error).message).slice(0, 200)}`;

/** Checks that the reference sees the same of every listed table. */
async function checkReference(root: string, state: State): Promise<void> {
  for (const [key, { branches }] of Object.entries(state.tables)) {
    const id = key.split("$");
    for (const [branch, history] of Object.entries(branches)) {
      const latest = latestOf(history);
      if (latest === null || (!isRoot(id) && branch !== "main")) continue;
      const on = branch === "main" ? undefined : branch;
      const rows = isRoot(id)
        ? contentOf(tableFromIPC(await reference.readTable(root, id[0], { branch: on }))).rows
        : ((await reference.catalogStep(root, "readRows", id)) as object[]).map(textOf).sort();
      expect(rows, `${key} ${branch}, by the reference`).toEqual(latest.rows);
    }
  }
}

/** Rows for tables by their columns. */
const APPENDABLE: ReadonlyMap<string, Uint8Array> = new Map([
  ["v Int32 []", rowsOf(999)],
  ["w Utf8 []", otherRowsOf("z")],
]);

/** Checks that the next writer meets no lock, and no used number. */
async function goOn(ns: DirectoryNamespace, state: State): Promise<void> {
  await ns.createNamespace({ id: ["later"] });
  for (const [key, { branches }] of Object.entries(state.tables)) {
    const id = key.split("$");
    const latest = latestOf(branches.main);
    if (latest === null) continue;
    const rows = APPENDABLE.get(latest.columns);
    if (rows === undefined) continue;
    await ns.insertIntoTable({ id }, rows);
    expect(await ns.countTableRows({ id }), `${key} after another insertion`).toBe(latest.rows.length + 1);
  }
}

/** Defines one test for each victim. */
export function pauseLoop(victims: readonly Victim[]): void {
  let stage: Stage;
  beforeAll(async () => {
    stage = new Stage(await makeTempDir());
  });
  afterAll(async () => {
    await stage.end();
    if (process.env.PAUSE_REFUSALS === undefined) return;
    for (const [refusal, count] of [...stage.refusals].sort()) console.log(count, refusal);
  });

  describe.each(victims.map((victim, index) => ({ ...victim, index })))("$name", ({ index, ...victim }) => {
    it(
      "pauses at any of its disk calls during other changes",
      async () => {
        const cases = casesOf(victim, await stage.countCalls(victim));
        if (process.env.PAUSE_COUNT !== undefined) console.log(`${victim.name}: ${cases.length} cases`);
        const wrong: string[] = [];
        let knownFailures = 0;
        for (let number = (OFFSET + index * 17) % STRIDE; number < cases.length; number += STRIDE) {
          const each = cases[number];
          if (ONLY !== undefined && titleOf(each) !== ONLY.join("; ")) continue;
          for (const failure of await stage.play(each)) {
            if (KNOWN.some(({ failures }) => failures.test(failure))) knownFailures++;
            else wrong.push(failure);
            if (process.env.PAUSE_VERBOSE !== undefined) console.log(failure);
          }
        }
        if (knownFailures > 0) console.log(`${victim.name}: ${knownFailures} known failures`);
        expect(wrong, `${wrong.length} of ${Math.ceil(cases.length / STRIDE)} cases`).toEqual([]);
      },
      TIMEOUT_MS,
    );
  });
}

/** Returns all cases, ordered so that any stride varies rivals, calls and moments. */
function casesOf(victim: Victim, calls: number): Case[] {
  const contested = victim.contested ?? [victim.world[0][0]];
  const rivals = victim.world
    .filter(([id]) => contested.includes(id))
    .flatMap(([id, beginning]) => rivalsOf(id, beginning))
    .filter(({ name }) => victim.without?.includes(name) !== true);
  const cases: Case[] = [];
  for (let callIndex = 0; callIndex < calls; callIndex++) {
    for (const rival of rivals) {
      for (const moment of ["before", "after"] as const) {
        for (const locks of ["stale", "fresh"] as const)
          cases.push({ victim, rival, callIndex, moment, locks });
      }
    }
  }
  return cases;
}
