/** Scripts that run as another user, from a copy that every user can read. */

import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, readFile } from "node:fs/promises";
import os from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeTempDir } from "./tempDir.js";

const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
const PROCESSES = join("test", "support", "processes");

/** Packages within the bundles; single files of `dist/` import them. */
const BUNDLED = ["fs-extra", "proper-lockfile"];

/** A user who owns nothing. */
export const NOBODY = 65534;

export const isRoot = process.getuid?.() === 0;

/** Becomes the other user as the scripts do, and enters a new directory that all may enter. */
const TRIAL = `
  const directory = require("node:fs").mkdtempSync(process.argv[1] + "/tiltyard-test-");
  require("node:fs").chmodSync(directory, 0o755);
  process.on("exit", () => { try { require("node:fs").rmdirSync(directory); } catch {} });
  const child = require("node:child_process").spawnSync(process.execPath, ["-e",
    "process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});" +
    "require('node:fs').accessSync(" + JSON.stringify(directory) + ")"], { encoding: "utf8" });
  process.stderr.write(child.stderr);
  process.exitCode = child.status;`;

/** Why no script can run as another user here, or null if one can or the tests do not run as root. */
export function whyNoOtherUser(): string | null {
  if (!isRoot) return null;
  const trial = spawnSync(process.execPath, ["-e", TRIAL, os.tmpdir()], { encoding: "utf8" });
  if (trial.status === 0) return null;
  const [reason = `code ${trial.status}`] = /^\w*Error: .*$/m.exec(trial.stderr) ?? [];
  return `user ${NOBODY} can't use directories in ${os.tmpdir()} (set TMPDIR to one that every user may enter): ${reason}`;
}

/** Copies the built package, its dependencies and the scripts, readable for all; returns a script's path. */
export async function readableScript(script: string): Promise<string> {
  if (!existsSync(join(CHECKOUT, "dist/index.d.ts"))) throw new Error("not built: run npm run build");
  const copy = await makeTempDir();
  const { dependencies } = JSON.parse(await readFile(join(CHECKOUT, "package.json"), "utf8"));
  const modules = await closureOf([...Object.keys(dependencies), ...BUNDLED]);
  for (const path of ["package.json", "dist", PROCESSES, ...modules]) {
    await mkdir(join(copy, path, ".."), { recursive: true });
    await cp(join(CHECKOUT, path), join(copy, path), {
      recursive: true,
      dereference: true,
      filter: (file) => !file.endsWith(".map"),
    });
  }
  if (process.platform !== "win32") await promisify(execFile)("chmod", ["-R", "a+rX", copy]);
  await chmod(copy, 0o755);
  return join(copy, PROCESSES, script);
}

/** Directories of packages and their dependencies, except nested ones. */
async function closureOf(names: readonly string[]): Promise<string[]> {
  const seen = new Set<string>();
  const visit = async (name: string): Promise<void> => {
    const directory = join("node_modules", name);
    if (seen.has(directory) || !existsSync(join(CHECKOUT, directory))) return;
    seen.add(directory);
    const { dependencies = {} } = JSON.parse(
      await readFile(join(CHECKOUT, directory, "package.json"), "utf8"),
    );
    for (const each of Object.keys(dependencies)) await visit(each);
  };
  for (const name of names) await visit(name);
  return [...seen];
}
