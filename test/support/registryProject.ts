/**
 * A project with the packed package and packages of npm's registry, installed by `npm install`. Its tests are
 * skipped, with a message, if the registry cannot be reached.
 */

import { execFile } from "node:child_process";
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "vitest";
import { CHECKOUT } from "./packedProject.js";
import { makeTempDir } from "./tempDir.js";

const run = promisify(execFile);
const SHELL = process.platform === "win32";
const PATIENCE_MS = 15_000;

let packed: Promise<string> | null = null;
let reachable: Promise<string | null> | null = null;

/** The file that `npm pack` makes of the checkout; made once. */
export function packedFile(): Promise<string> {
  packed ??= (async () => {
    const directory = await realpath(await makeTempDir());
    const { stdout } = await run(
      "npm",
      ["pack", "--json", "--ignore-scripts", "--pack-destination", directory],
      { cwd: CHECKOUT, shell: SHELL, maxBuffer: 2 ** 26 },
    );
    return join(directory, JSON.parse(stdout)[0].filename);
  })();
  return packed;
}

/** Returns why the registry cannot be reached, or null. */
export function whyUnreachable(): Promise<string | null> {
  reachable ??= (async () => {
    const { stdout } = await run("npm", ["config", "get", "registry"], { cwd: CHECKOUT, shell: SHELL });
    const registry = stdout.trim();
    try {
      const { status } = await fetch(
        new URL("is-number", registry.endsWith("/") ? registry : `${registry}/`),
        {
          method: "HEAD",
          signal: AbortSignal.timeout(PATIENCE_MS),
        },
      );
      return status < 400 ? null : `${registry} answers ${status}`;
    } catch (error) {
      const { message, cause } = error as Error;
      return `${registry} can't be reached: ${cause instanceof Error ? cause.message : message}`;
    }
  })();
  return reachable;
}

/** Skips the test unless the registry can be reached; with `TILTYARD_REGISTRY=required` the test fails. */
export async function needRegistry(context: TestContext): Promise<void> {
  const why = await whyUnreachable();
  if (why === null) return;
  if (process.env["TILTYARD_REGISTRY"] === "required") throw new Error(why);
  context.skip(`not shown here: the test installs from npm, and ${why}`);
}

export interface RegistryProject {
  readonly directory: string;
  readonly installMs: number;
}

/** Makes a project of a kind of modules with packages of the registry, such as `esbuild@0.25`. */
export async function makeRegistryProject(
  packages: readonly string[],
  type: "module" | "commonjs" = "module",
): Promise<RegistryProject> {
  const file = await packedFile();
  const directory = await realpath(await makeTempDir());
  await writeFile(join(directory, "package.json"), JSON.stringify({ name: "stranger", private: true, type }));
  const start = performance.now();
  const options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline"];
  await run("npm", ["install", ...options, file, ...packages], {
    cwd: directory,
    shell: SHELL,
    maxBuffer: 2 ** 26,
    env: { ...process.env, npm_config_update_notifier: "false" },
  });
  return { directory, installMs: performance.now() - start };
}

/** Makes a folder of the project, which finds its packages. */
export async function folderOf({ directory }: RegistryProject, name: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(path, { recursive: true });
  return path;
}

export function commandOf({ directory }: RegistryProject, path: string): string {
  return join(directory, "node_modules", path);
}
