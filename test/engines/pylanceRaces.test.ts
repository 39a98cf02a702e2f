/** pylance and we append, update and delete in one table concurrently: no acknowledged change is lost. */

import { setTimeout } from "node:timers/promises";
import { Table } from "apache-arrow";
import { NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { int64s } from "../support/arrowColumns.js";
import { MAJORS, openPair, type PylancePair } from "./support/pylance.js";

const SECONDS = 4;
/** First key of pylance. */
const THEIRS = 1_000_000;

interface Changes {
  readonly appended: number[];
  readonly deleted: number[];
  updated: number;
}

/** Changes that were acknowledged, and changes that failed: the engine may have made these or not. */
interface Outcome {
  readonly done: Changes;
  readonly failed: Changes;
  readonly errors: string[];
}

const noChanges = (): Changes => ({ appended: [], deleted: [], updated: 0 });

const row = (id: number): Table => new Table({ id: int64s([BigInt(id)]), n: int64s([0n]) });

/** Does what `race` of `pylance_tables.py` does. */
async function race({ namespace }: PylancePair, name: string, first: number): Promise<Outcome> {
  const outcome: Outcome = { done: noChanges(), failed: noChanges(), errors: [] };
  const attempt = async (act: () => Promise<unknown>, note: (changes: Changes) => void) => {
    try {
      await act();
      note(outcome.done);
    } catch (error) {
      if (!(error instanceof NamespaceError)) throw error;
      note(outcome.failed);
      outcome.errors.push(error.message);
    }
  };
  const table = namespace.table([name]);
  const end = performance.now() + SECONDS * 1000;
  for (let key = first; performance.now() < end; key++) {
    // pylance is slower, and gives up after some lost races.
    await setTimeout(20);
    await attempt(
      () => table.insert(row(key)),
      ({ appended }) => appended.push(key),
    );
    await attempt(
      () => table.update({ where: "id = 0", valuesSql: { n: "n + 1" } }),
      (changes) => {
        changes.updated++;
      },
    );
    if (key % 3 !== 0) continue;
    await attempt(
      () => table.delete(`id = ${key}`),
      ({ deleted }) => deleted.push(key),
    );
  }
  return outcome;
}

describe.each([MAJORS[0], MAJORS[MAJORS.length - 1]])("pylance %i", (major) => {
  const pair = openPair(major);

  it.for([
    { stableRowIds: false, said: "row addresses" },
    { stableRowIds: true, said: "stable row ids" },
  ])("appends, updates and deletes at the same time as we: $said", async ({ stableRowIds }, { annotate }) => {
    const name = pair.freshName();
    await pair.namespace.createTable({ id: [name], stableRowIds }, row(0));
    // Python is there before the race begins.
    expect((await pair.rowsThere(name)).numRows).toBe(1);
    const [ours, theirs] = await Promise.all([
      race(pair, name, 1),
      pair.there<Outcome>("race", name, THEIRS, SECONDS),
    ]);
    const both = [ours, theirs];
    const failures = both.map(({ errors }) => errors.length);
    await annotate(
      `${ours.done.appended.length} appends and ${ours.done.updated} updates of ours, ${theirs.done.appended.length} and ${theirs.done.updated} of pylance, failed ${failures.join(" and ")}`,
      "seen",
    );
    for (const rows of [await pair.rowsHere(name), await pair.rowsThere(name)]) {
      const ids = Array.from(rows.getChild("id") ?? [], Number);
      const present = new Set(ids);
      expect(present.size, "no key is there twice").toBe(ids.length);
      for (const { done, failed } of both) {
        const gone = new Set([...done.deleted, ...failed.deleted]);
        expect(
          done.appended.filter((id) => !gone.has(id) && !present.has(id)),
          "lost appends",
        ).toEqual([]);
        expect(
          done.deleted.filter((id) => present.has(id)),
          "lost deletes",
        ).toEqual([]);
      }
      const counter = Number(rows.getChild("n")?.get(ids.indexOf(0)));
      const acknowledged = ours.done.updated + theirs.done.updated;
      expect(counter, "lost updates").toBeGreaterThanOrEqual(acknowledged);
      expect(counter, "updates made twice").toBeLessThanOrEqual(
        acknowledged + ours.failed.updated + theirs.failed.updated,
      );
    }
    for (const { done } of both) {
      expect(done.appended.length).toBeGreaterThan(0);
      expect(done.updated).toBeGreaterThan(0);
    }
    await pair.there("validate", name);
  });
});
