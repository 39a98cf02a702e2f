/**
 * Released versions of LanceDB from npm, and their answers, each in a process of its own. `LANCEDB_RELEASES`
 * names a directory that keeps installed releases.
 */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeTempDir } from "../tempDir.js";

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("release.mjs", import.meta.url));
const REFERENCE = fileURLToPath(new URL("../../reference", import.meta.url));
/** The apache-arrow that all releases accept. */
const ARROW = "apache-arrow@18.1.0";

/** A question that release.mjs answers. */
export type Question =
  | { readonly count: string | null }
  /** Ids of the rows that a filter selects. */
  | { readonly ids: string }
  | { readonly rows: true }
  /** Ids of the rows that have one of the words. */
  | { readonly words: string }
  /** Ids of the rows nearest to a vector; with `exact`, without an index. */
  | { readonly nearest: readonly number[]; readonly limit?: number; readonly exact?: boolean };

export type Answer = { readonly answer: unknown } | { readonly error: string };

/** Installs a release; returns the directory of its project. */
export async function installRelease(release: string): Promise<string> {
  const directory = join(process.env["LANCEDB_RELEASES"] ?? (await makeTempDir()), release);
  const done = join(directory, "done");
  if (existsSync(done)) return directory;
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "package.json"), JSON.stringify({ private: true }));
  const options = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", "--prefer-offline"];
  await run("npm", ["install", ...options, `@lancedb/lancedb@${release}`, ARROW], {
    cwd: directory,
    shell: process.platform === "win32",
    maxBuffer: 2 ** 26,
  });
  await writeFile(done, "");
  return directory;
}

/** Makes a release write its tables. Returns the reason of a failure by table; null if the table is there. */
export const writeTables = (project: string, root: string): Promise<Record<string, string | null>> =>
  runScript(project, { action: "write", root });

export const askRelease = (
  project: string,
  root: string,
  tables: Readonly<Record<string, readonly Question[]>>,
): Promise<Record<string, Answer[]>> => runScript(project, { action: "ask", root, tables });

export const askReference = (
  root: string,
  tables: Readonly<Record<string, readonly Question[]>>,
): Promise<Record<string, Answer[]>> => askRelease(REFERENCE, root, tables);

/** Reports a crash as an answer: some releases end the process on unknown input. */
async function runScript<Result>(project: string, request: object): Promise<Result> {
  const { stdout } = await run(process.execPath, [SCRIPT, JSON.stringify(request)], {
    cwd: project,
    maxBuffer: 2 ** 28,
  });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "null");
}
