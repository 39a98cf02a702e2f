/**
 * Processes change the catalog while its old versions are emptied: none is blocked, and no change is lost.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { expect } from "vitest";
import { BACKLOG, catalogVersions, MIN_KEPT, makeHeavy, upTo } from "../support/catalogVersions.js";
import { runsOf } from "../support/effort.js";
import { type EngineStep, raceEngines } from "../support/engineWorker.js";
import { it } from "../support/fixtures.js";
import { type CatalogJob, ReferenceWorker, reference, type StepOutcome } from "../support/reference.js";

/** Number of steps of each process, enough for old versions of a small catalog to be emptied. */
const STEPS = 80;
const SUSPENSIONS = runsOf("SUSPENSIONS", 4);
/** Errors with which the reference gives up, or reads an emptied version. It may try again. */
const MAY_TRY_AGAIN = /concurrent|conflict|Not ?Found/i;
/** Also the errors of a reference that was suspended between reading a manifest's length and the manifest. */
const MAY_TRY_AGAIN_LATER = new RegExp(
  `${MAY_TRY_AGAIN.source}|LocalFileSystem error.*range|Invalid range \\d+\\.\\.\\d+ for object of size 0`,
  "is",
);

/** Plans the namespaces of one process; it drops every third again. */
function plan(process: number): ["createNamespace" | "dropNamespace", string[]][] {
  const steps: ReturnType<typeof plan> = [];
  for (let step = 0; step < STEPS; step++) {
    steps.push(["createNamespace", [`p${process}-${step}`]]);
    if (step % 3 === 2) steps.push(["dropNamespace", [`p${process}-${step - 1}`]]);
  }
  return steps;
}

const workerOf = (root: string, steps: ReturnType<typeof plan>) =>
  new ReferenceWorker<CatalogJob>({ kind: "catalogSteps", root, steps });

/** Returns the names that exist after a process's steps; fails for an outcome that no race explains. */
function namesAfter(
  steps: ReturnType<typeof plan>,
  outcomes: readonly StepOutcome[],
  mayFail = MAY_TRY_AGAIN,
): Set<string> {
  const names = new Set<string>();
  for (const [index, outcome] of outcomes.entries()) {
    const [operation, [name]] = steps[index];
    if ("error" in outcome) {
      expect(outcome.error, `${operation} ${name}`).toMatch(mayFail);
      continue;
    }
    if (operation === "createNamespace") names.add(name);
    else names.delete(name);
  }
  return names;
}

it("two engines of ours and two references change the catalog at once", async ({ root, ns }) => {
  const references = [2, 3].map((process) => workerOf(root, plan(process)));
  await Promise.all(references.map((worker) => worker.ready));
  for (const worker of references) worker.go();
  const ours = await raceEngines(
    [0, 1].map((process) => ({
      root,
      steps: plan(process).map(([operation, id]): EngineStep => [operation, { id }]),
    })),
  );
  const theirs = await Promise.all(references.map((worker) => worker.outcomes));
  for (const outcome of ours.flat()) expect(outcome, JSON.stringify(outcome)).toHaveProperty("ok");
  const expected = [
    ...[...ours, ...theirs].flatMap((outcomes, process) => [
      ...namesAfter(plan(process), outcomes as StepOutcome[]),
    ]),
  ].sort();
  expect((await ns.listNamespaces()).namespaces).toEqual(expected);
  expect(await reference.catalogStep(root, "listNamespaces", [])).toEqual(expected);

  const { emptied, whole, dataFiles } = await catalogVersions(root);
  expect([...emptied, ...whole]).toEqual(upTo(emptied.length + whole.length));
  expect(emptied.length).toBeGreaterThan(BACKLOG);
  // The reference removes the files of a lost attempt; one that gave up may have left some.
  expect(dataFiles).toBeLessThan(whole.length + BACKLOG);
});

it.skipIf(process.platform === "win32")(
  "a reference that is suspended in the middle of changes loses none that it acknowledges",
  async ({ root, ns }) => {
    await makeHeavy(ns);
    const steps = Array.from({ length: 10 * SUSPENSIONS }, (_, step): ["createNamespace", string[]] => [
      "createNamespace",
      [`theirs-${step}`],
    ]);
    const worker = workerOf(root, steps);
    await worker.ready;
    worker.go();
    const made: string[] = [];
    for (let suspension = 0; suspension < SUSPENSIONS; suspension++) {
      await sleep(1 + Math.random() * 20);
      worker.suspend();
      // Enough changes that the version after the known one is emptied.
      for (let change = 0; change < MIN_KEPT + BACKLOG + 2; change += 2) {
        await ns.createNamespace({ id: ["passing"] });
        await ns.dropNamespace({ id: ["passing"] });
      }
      made.push(`ours-${suspension}`);
      await ns.createNamespace({ id: [`ours-${suspension}`] });
      worker.resume();
    }
    const outcomes = await worker.outcomes;
    const acknowledged = namesAfter(steps, outcomes, MAY_TRY_AGAIN_LATER);
    const { namespaces } = await ns.listNamespaces();
    expect(namespaces).toEqual(expect.arrayContaining([...acknowledged, ...made]));
    expect(await reference.catalogStep(root, "listNamespaces", [])).toEqual(namespaces);
    // Most changes are made while no other process interferes.
    expect(acknowledged.size).toBeGreaterThan(steps.length / 2);
    expect(outcomes[outcomes.length - 1]).toHaveProperty("ok");
    const { emptied, whole } = await catalogVersions(root);
    expect([...emptied, ...whole]).toEqual(upTo(emptied.length + whole.length));
  },
);
