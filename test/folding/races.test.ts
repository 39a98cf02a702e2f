/** Two engines make tables whose names fold together: one gets its name, and acknowledged tables exist. */

import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import type { Disk } from "../../src/io/disk/disk.js";
import { foldName } from "../../src/io/names/foldName.js";
import { RUN_SEED, strideOf } from "../support/effort.js";
import { type EngineStep, raceEngines } from "../support/engineWorker.js";
import { describe, expect, it } from "../support/fixtures.js";
import { diskOf, openOn, rowsOf, valuesOf } from "../support/foldedNamespaces.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("FOLD_STRIDE", 5);

type Making = (ns: DirectoryNamespace, name: string, signal?: AbortSignal) => Promise<unknown>;

/** Returns the name of a table to rename, which folds together with no other. */
const spareOf = (name: string): string => `spare-${Buffer.from(name).toString("hex")}`;

const makings: Readonly<Record<string, Making>> = {
  create: (ns, name, signal) => ns.createTable({ id: [name], signal }, rowsOf(1)),
  overwrite: (ns, name, signal) => ns.createTable({ id: [name], mode: "Overwrite", signal }, rowsOf(1)),
  declare: (ns, name, signal) => ns.declareTable({ id: [name], signal }),
  rename: (ns, name, signal) => ns.renameTable({ id: [spareOf(name)], newTableName: name, signal }),
  batch: (ns, name, signal) =>
    ns.batchCommitTables({ operations: [{ declareTable: { id: [name] } }], signal }),
};

const REFUSALS = ["InvalidInput", "TableAlreadyExists", "ConcurrentModification", "ServiceUnavailable"];

const outcomeOf = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      const isGivenUp = error instanceof Error && error.name === "TimeoutError";
      if (!isGivenUp) {
        expect(error).toBeInstanceOf(NamespaceError);
        expect(REFUSALS, String((error as NamespaceError).cause ?? error)).toContain(
          (error as NamespaceError).type,
        );
      }
      return false;
    },
  );

async function expectOne(root: string, disk: string, made: Readonly<Record<string, boolean>>): Promise<void> {
  await using ns = openOn(root, disk);
  const { tables } = await ns.listTables({ id: [], includeDeclared: true });
  const present = tables.filter((name) => !name.startsWith("spare-"));
  expect(present.filter((name) => made[name]).sort()).toEqual(
    Object.keys(made)
      .filter((name) => made[name])
      .sort(),
  );
  expect(new Set(present.map(foldName)).size, present.join()).toBe(present.length);
  for (const name of tables) await ns.describeTable({ id: [name] });
}

const meetings = [
  ...["create", "declare", "rename", "batch"].flatMap((ours) =>
    ["create", "rename"].map((theirs) => ["a plain disk", ours, theirs] as const),
  ),
  ...["create", "overwrite", "rename"].map((ours) => ["NTFS", ours, "create"] as const),
];

it.each(meetings)("on %s, while %s runs, %s comes in between", async (disk, ours, theirs) => {
  const first = RUN_SEED % STRIDE;
  for (let callIndex = first, interrupted = true; interrupted; callIndex += STRIDE) {
    const root = await makeTempDir();
    await using rival = openOn(root, disk);
    if (ours === "rename") await rival.createTable({ id: [spareOf("trees")] }, rowsOf(2));
    if (theirs === "rename") await rival.createTable({ id: [spareOf("Trees")] }, rowsOf(2));
    let calls = 0;
    let made = false;
    const inner: Disk = interruptedDisk(
      diskOf(disk),
      () => calls++ === callIndex,
      // The other engine gives up if it needs a held lock.
      async () => {
        made = await outcomeOf(makings[theirs](rival, "Trees", AbortSignal.timeout(30)));
      },
    );
    await using ns = new DirectoryNamespace({ root, disk: inner, durability: "none" });
    const isOurs = await outcomeOf(makings[ours](ns, "trees"));
    interrupted = calls > callIndex;
    expect(isOurs || made, `call ${callIndex}: nobody got the name`).toBe(true);
    await expectOne(root, disk, { trees: isOurs, Trees: made });
  }
});

describe.each(["a plain disk", "NTFS"])("on %s", (disk) => {
  it("many creations run at once, in one process", async () => {
    const ways = Object.values(makings);
    for (let round = 0; round < 10; round++) {
      const root = await makeTempDir();
      const engines = [0, 1].map(() => openOn(root, disk));
      const names = ["trees", "Trees", "TREES", "trees."];
      for (const name of names) await engines[0].createTable({ id: [spareOf(name)] }, rowsOf(2));
      const won = await Promise.all(
        names.map((name, index) => outcomeOf(ways[(round + index) % ways.length](engines[index % 2], name))),
      );
      expect(won.filter(Boolean).length, `round ${round}`).toBe(1);
      await expectOne(root, disk, Object.fromEntries(names.map((name, index) => [name, won[index]])));
      for (const engine of engines) await engine.close();
    }
  });
});

it("many creations run at once, in several processes, while other tables come and go", async ({ root }) => {
  const ROUNDS = 12;
  const spellings = ["trees", "Trees", "TREES", "trEEs"];
  const rows = tableToIPC(rowsOf(1));
  const steps = spellings.map((spelling, process): EngineStep[] =>
    Array.from({ length: ROUNDS }, (_, round): EngineStep[] => {
      const id = [`${spelling}${round}`];
      const making: EngineStep =
        (process + round) % 2 ? ["createTable", { id }, rows] : ["declareTable", { id }];
      const uniqueName = [`own-${process}-${round}`];
      return [["declareTable", { id: uniqueName }], making, ["dropTable", { id: uniqueName }]];
    }).flat(),
  );
  const outcomes = await raceEngines(
    steps.map((each) => ({ root, options: { durability: "none" }, steps: each })),
  );
  await using ns = openOn(root, "a plain disk");
  const { tables } = await ns.listTables({ id: [], includeDeclared: true });
  for (let round = 0; round < ROUNDS; round++) {
    const won = spellings.filter((_, process) => "ok" in outcomes[process][3 * round + 1]);
    expect(won.length, `round ${round}: ${won}`).toBe(1);
    expect(tables.filter((name) => foldName(name) === `TREES${round}`)).toEqual([`${won[0]}${round}`]);
  }
  for (const answers of outcomes) {
    for (const [step, answer] of answers.entries()) {
      if (step % 3 !== 1) expect(answer).toHaveProperty("ok");
    }
  }
});

it("the table that got the name has its own rows", async () => {
  for (const disk of ["a plain disk", "NTFS", "APFS"]) {
    const root = await makeTempDir();
    const [one, rival] = [openOn(root, disk), openOn(root, disk)];
    const held = (async function* () {
      await one.createTable({ id: ["Trees"] }, rowsOf(1, 2));
      yield* rowsOf(9).batches;
    })();
    await expect(rival.createTable({ id: ["trees"], mode: "Overwrite" }, held)).rejects.toMatchObject({
      code: 13,
      status: 400,
    });
    expect(await valuesOf(one, ["Trees"])).toEqual([1, 2]);
    await one.close();
    await rival.close();
  }
});
