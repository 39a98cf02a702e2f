/** Processes that append to one table in a bucket, and the check that no acknowledged row is lost. */

import type { ChildProcess } from "node:child_process";
import type { DirectoryNamespace } from "tiltyard";
import type { S3DiskOptions } from "tiltyard/disks";
import { expect } from "vitest";
import { exitOf, nextMessage, startProcess } from "../../support/childProcess.js";

/** A row that a writer was told to be stored. */
export interface Acknowledged {
  readonly writer: number;
  readonly n: number;
  readonly version: number;
}

/** A process that appends rows. */
export class BucketWriter {
  readonly acknowledged: Acknowledged[] = [];
  readonly #child: ChildProcess;
  #retries: number | null = null;

  private constructor(child: ChildProcess, writer: number) {
    this.#child = child;
    child.on("message", (message: { n?: number; version?: number; done?: number }) => {
      const { n, version, done } = message;
      if (n !== undefined && version !== undefined) this.acknowledged.push({ writer, n, version });
      if (done !== undefined) this.#retries = done;
    });
  }

  static async start(
    disk: S3DiskOptions,
    table: string,
    writer: number,
    commits: number,
  ): Promise<BucketWriter> {
    const child = startProcess("bucketWriter.mjs", [JSON.stringify({ disk, table, writer, commits })]);
    const started = new BucketWriter(child, writer);
    await nextMessage(child);
    return started;
  }

  go(): void {
    this.#child.send("go");
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Waits for the end; returns how often a commit was tried again, or null if the process was killed. */
  async end(): Promise<number | null> {
    await exitOf(this.#child);
    return this.#retries;
  }
}

/**
 * Checks that each acknowledged row is there once, in the version that was acknowledged or before, and that
 * no row is there twice.
 * @returns the number of rows that nobody was told of
 */
export async function expectRows(
  namespace: DirectoryNamespace,
  table: string,
  acknowledged: readonly Acknowledged[],
): Promise<number> {
  const rows = await namespace.table(table).scan().toArray();
  const stored = new Map<string, number>();
  for (const { writer, n } of rows) stored.set(`${writer}/${n}`, (stored.get(`${writer}/${n}`) ?? 0) + 1);
  expect([...stored].filter(([, count]) => count !== 1)).toEqual([]);
  expect(acknowledged.filter(({ writer, n }) => !stored.has(`${writer}/${n}`))).toEqual([]);
  const versions = acknowledged.map(({ version }) => version);
  expect(new Set(versions).size).toBe(versions.length);
  return stored.size - acknowledged.length;
}
