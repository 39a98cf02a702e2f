import { execFile } from "node:child_process";
import { cp, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { LOCK_NAME } from "../../src/io/lock/lease.js";

const run = promisify(execFile);

const MAX_ATTEMPTS = 5;

/** Copies a directory with all times. Starts again if a short-lived lock vanishes meanwhile. */
export async function copyTree(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await copyOnce(from, to);
      return;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !String(error).includes(LOCK_NAME)) throw error;
      await rm(to, { recursive: true, force: true });
    }
  }
}

async function copyOnce(from: string, to: string): Promise<void> {
  if (process.platform === "win32") await cp(from, to, { recursive: true, preserveTimestamps: true });
  else await run("cp", ["-a", from, to]);
}
