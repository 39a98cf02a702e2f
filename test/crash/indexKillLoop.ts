/** Kills processes that build or update an index at random moments, while others resume. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Table, tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect } from "vitest";
import { Drawing } from "../support/drawing.js";
import { RUN_SEED } from "../support/effort.js";
import type { EngineOutcome } from "../support/engineWorker.js";
import { KillableEngine } from "../support/killableEngine.js";
import { makeTempDir } from "../support/tempDir.js";
import { withNamespace } from "./interruptions.js";

const id = ["t"];

interface IndexWork<Kind> {
  readonly kills: number;
  readonly killsOfTable: number;
  readonly maxDelayMs: number;
  /** Rows of the table at first; an insertion adds as many. */
  readonly rows: number;
  readonly rowsFrom: (first: number) => Table;
  /** Indexes, of which each table has one. */
  readonly kinds: readonly Kind[];
  readonly check: (root: string, kind: Kind, rowCount: number, where: string) => Promise<void>;
  readonly checkReference: (root: string) => Promise<void>;
}

export async function killIndexWork<Kind extends { readonly indexType: string; readonly column: string }>({
  kills,
  killsOfTable,
  maxDelayMs,
  rows,
  rowsFrom,
  kinds,
  check,
  checkReference,
}: IndexWork<Kind>): Promise<void> {
  const seed = RUN_SEED;
  const drawing = new Drawing(seed);
  let killed = 0;
  let underWay = 0;
  for (let turn = 0; killed < kills; turn++) {
    const root = await makeTempDir();
    const options = { root, durability: "none" } as const;
    await withNamespace(root, (ns) => ns.createTable({ id }, rowsFrom(0)));
    let rowCount = rows;
    let engine = new KillableEngine(options);
    await engine.ready;
    const interrupt = async (work: Promise<EngineOutcome | null>): Promise<void> => {
      await sleep(drawing.number(maxDelayMs));
      engine.kill();
      if ((await work) === null) underWay++;
      await engine.gone();
      killed++;
      engine = new KillableEngine(options);
      await engine.ready;
    };
    const ok = (outcome: EngineOutcome | null): void => {
      if (outcome === null || !("ok" in outcome)) throw new Error(JSON.stringify(outcome));
    };
    const kind = kinds[(seed + turn) % kinds.length];
    const request = { id, ...kind, name: "i", replace: true } as never;
    const build = async (): Promise<EngineOutcome | null> => {
      const started = await engine.call(["createTableIndex", request]);
      if (started === null || !("ok" in started)) return started;
      return engine.call(["waitForJob", { jobId: (started.ok as { jobId: string }).jobId }]);
    };
    const optimize = () => engine.call(["optimizeTable", { id }]);
    for (let kill = 0; kill < killsOfTable && killed < kills; kill++) {
      const where = `seed ${seed}, ${kind.indexType}, kill ${killed}`;
      if (kill % 2 === 1 && rowCount === rows) {
        ok(await engine.call(["insertIntoTable", { id }, tableToIPC(rowsFrom(rows))]));
        rowCount += rows;
      } else if (kill % 2 === 1) ok(await build());
      const work = kill % 2 === 0 ? build : optimize;
      await interrupt(work());
      await check(root, kind, rowCount, where);
      ok(await work());
      await check(root, kind, rowCount, where);
    }
    engine.kill();
    await engine.gone();
    await using ns = new DirectoryNamespace(options);
    await ns.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
    await check(root, kind, rowCount, `seed ${seed}, cleaned up`);
    const { indexes } = await ns.listTableIndices({ id });
    expect(indexes).toMatchObject([
      { indexName: "i", indexType: kind.indexType, numUnindexedRows: 0, numSegments: 1 },
    ]);
    const directory = join(root, "t.lance");
    expect(await readdir(join(directory, "_indices"))).toEqual([indexes[0].indexUuid]);
    const names = await readdir(directory, { recursive: true });
    expect(names.filter((name) => /\.tmp|#\d+$/.test(name))).toEqual([]);
    await checkReference(root);
  }
  // Some of them were in the middle of their work.
  expect(underWay).toBeGreaterThan(0);
}
