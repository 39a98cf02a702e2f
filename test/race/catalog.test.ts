/** Many processes, half of them the reference, lose no change of one catalog and make no id twice. */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { type EngineStep, raceEngines } from "../support/engineWorker.js";
import { expect, it } from "../support/fixtures.js";
import { type CatalogJob, ReferenceWorker, reference } from "../support/reference.js";

const COUNT = 12;
/** Namespaces that every process tries to make. */
const CONTESTED = [0, 1, 2, 3].map((number) => `contested-${number}`);

const rowsOf = (value: number) => tableToIPC(new Table({ v: vectorFromArray([value], new Int32()) }));
const mine = (process: number, step: number) => `p${process}-${step}`;

/** Plans namespaces and tables of each process, some of which it drops again, and those that all want. */
function plan(process: number): ["createNamespace" | "createTable" | "dropTable", string[], number][] {
  const steps: ReturnType<typeof plan> = [];
  for (let step = 0; step < COUNT; step++) {
    const name = mine(process, step);
    steps.push(["createNamespace", ["shared", `n-${name}`], 0]);
    steps.push(["createTable", ["shared", name], process * 100 + step]);
    if (step % 4 === 0) steps.push(["createTable", [name], process * 100 + step]);
    if (step % 3 === 2) steps.push(["dropTable", ["shared", mine(process, step - 1)], 0]);
    if (step % 3 === 1) steps.push(["createNamespace", [CONTESTED[(step - 1) / 3]], 0]);
  }
  return steps;
}

it("two engines of ours and two references change the catalog at once", async ({ root, ns, open }) => {
  await ns.createNamespace({ id: ["shared"] });
  const references = [2, 3].map(
    (process) =>
      new ReferenceWorker<CatalogJob>({
        kind: "catalogSteps",
        root,
        steps: plan(process).map(([operation, path, value]) => [
          operation,
          path,
          operation === "createTable" ? [{ v: value }] : undefined,
        ]),
      }),
  );
  await Promise.all(references.map((worker) => worker.ready));
  for (const worker of references) worker.go();
  const ours = await raceEngines(
    [0, 1].map((process) => ({
      root,
      steps: plan(process).map(
        ([operation, id, value]): EngineStep =>
          operation === "createTable" ? [operation, { id }, rowsOf(value)] : [operation, { id }],
      ),
    })),
  );
  const theirs = await Promise.all(references.map((worker) => worker.outcomes));

  const succeeded = [...ours, ...theirs].map((outcomes) => outcomes.map((outcome) => "ok" in outcome));
  const namespaces = new Set<string>();
  const tables = new Map<string, number>();
  for (const [process, outcomes] of succeeded.entries()) {
    for (const [step, ok] of outcomes.entries()) {
      const [operation, path, value] = plan(process)[step];
      const isContested = CONTESTED.includes(path[0]);
      // The reference gives up after some lost races; our engine must not.
      if (process < 2 && !isContested) {
        expect(ok, `${operation} ${path}: ${JSON.stringify(ours[process][step])}`).toBe(true);
      }
      if (!ok) continue;
      if (operation === "createNamespace") {
        expect(namespaces.has(path.join("$")), `${path} was made twice`).toBe(false);
        namespaces.add(path.join("$"));
      } else if (operation === "createTable") tables.set(path.join("$"), value);
      else tables.delete(path.join("$"));
    }
  }
  for (const name of CONTESTED) expect(namespaces).toContain(name);

  const listed = open();
  const under = (parent: string) =>
    [...namespaces].filter((id) => id.startsWith(parent)).map((id) => id.slice(parent.length));
  const tops = [...CONTESTED, "shared"].sort();
  expect((await listed.listNamespaces()).namespaces).toEqual(tops);
  expect((await listed.listNamespaces({ id: ["shared"] })).namespaces).toEqual(under("shared$").sort());
  expect(await reference.catalogStep(root, "listNamespaces", [])).toEqual(tops);
  expect(await reference.catalogStep(root, "listNamespaces", ["shared"])).toEqual(under("shared$").sort());
  const all = (await listed.listAllTables()).tables;
  // A creation that the reference gave up half-way may have left its table.
  expect(all.filter((id) => tables.has(id))).toEqual([...tables.keys()].sort());
  expect(new Set(all).size).toBe(all.length);
  for (const [id, value] of tables) {
    const path = id.split("$");
    expect(Array.from((await listed.table(path).scan().toArrow()).getChild("v") ?? [], Number), id).toEqual([
      value,
    ]);
  }
  for (const [id, value] of [...tables].slice(0, 5)) {
    expect(await reference.catalogStep(root, "readRows", id.split("$")), id).toEqual([{ v: value }]);
  }
  // Without duplicate ids, either engine can change the catalog now.
  await reference.catalogStep(root, "createNamespace", ["by-reference"]);
  await listed.createNamespace({ id: ["by-us"] });
});
