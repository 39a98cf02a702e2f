/**
 * Eight processes change one file under a lock. The holder is suspended until another process takes over, or
 * it is killed. No acknowledged change may be lost.
 */

import type { ChildProcess } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startProcess } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";
import { expect, it as test } from "../support/fixtures.js";
import { entriesOfLock } from "../support/lockEntries.js";

const PROCESSES = 8;
const ROUNDS = runsOf("TAKEOVER_ROUNDS", 3);
const MAX_ROUNDS = Math.max(ROUNDS, 60);
const KILLS_PER_ROUND = 6;
const STALE_MS = 2000;

test.skipIf(process.platform === "win32")(
  "no change is lost, whichever process is suspended or killed while it holds the lock",
  async ({ root }) => {
    const counter = path.join(root, "counter");
    await writeFile(counter, "0");
    const counted: number[] = [];
    let overruled = 0;
    let killed = 0;
    const processes = new Map<number, ChildProcess>();
    const start = () => {
      const started = startProcess("fencedCounter.mjs", [root, String(STALE_MS)]);
      processes.set(started.pid as number, started);
      started.on("message", (message: { counted?: number; overruled?: number }) => {
        if (message.counted !== undefined) counted.push(message.counted);
        if (message.overruled !== undefined) overruled++;
      });
      started.on("exit", (_, signal) => {
        processes.delete(started.pid as number);
        if (signal !== "SIGKILL") unexpected.push(`a process ended (${signal})`);
      });
    };
    const unexpected: string[] = [];
    for (let index = 0; index < PROCESSES; index++) start();

    const findHolder = async () => {
      for (;;) {
        expect(unexpected).toEqual([]);
        const [entry] = (await entriesOfLock(root)) ?? [];
        const holder = processes.get(Number(entry?.split("-")[4]));
        if (holder !== undefined && entry?.startsWith("owner-")) return { holder, entry };
        await sleep(1);
      }
    };
    const counts = async (more: number) => {
      for (const before = counted.length; counted.length < before + more; ) {
        expect(unexpected).toEqual([]);
        await sleep(2);
      }
    };
    try {
      // On a busy host, most holders finish before they are suspended.
      for (let round = 0; round < ROUNDS || (overruled === 0 && round < MAX_ROUNDS); round++) {
        const { holder, entry } = await findHolder();
        holder.kill("SIGSTOP");
        // The holder may have released the lock while it was being stopped.
        while ((await entriesOfLock(root))?.includes(entry)) await sleep(20);
        await counts(3);
        holder.kill("SIGCONT");
        for (let kill = 0; kill < KILLS_PER_ROUND; kill++) {
          await counts(1);
          (await findHolder()).holder.kill("SIGKILL");
          killed++;
          start();
        }
      }
      await counts(PROCESSES);
    } finally {
      for (const each of processes.values()) each.kill("SIGKILL");
    }
    for (const each of processes.values()) {
      if (each.exitCode === null && each.signalCode === null)
        await new Promise((resolve) => each.once("exit", resolve));
    }
    expect(new Set(counted).size).toBe(counted.length);
    const last = Number(await readFile(counter, "utf8"));
    expect(last).toBeGreaterThanOrEqual(Math.max(...counted));
    // Only a change whose process was killed before its report may be missing.
    expect(last - counted.length).toBeLessThanOrEqual(killed + PROCESSES);
    expect(overruled).toBeGreaterThan(0);
    console.log(`takeover: ${counted.length} changes, ${killed} killed, ${overruled} overruled`);
    expect((await readdir(root)).filter((name) => name.startsWith(".tmp-")).length).toBeLessThanOrEqual(
      PROCESSES,
    );
  },
);
