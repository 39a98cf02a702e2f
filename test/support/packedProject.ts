/** A new directory with the package as `npm pack` makes it, and links to the modules that it needs. */

import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeTempDir } from "./tempDir.js";

export const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);

/** Packages of the reference's own workspace. */
const OF_REFERENCE = ["@lancedb/lancedb"];

export interface PackedProject {
  readonly directory: string;
  readonly unpackedBytes: number;
}

/** @param modules packages to link besides the dependencies: names, or `*` for all of the checkout */
export async function makePackedProject(modules: readonly string[]): Promise<PackedProject> {
  if (!existsSync(join(CHECKOUT, "dist/index.d.ts"))) throw new Error("not built: run npm run build");
  const directory = await makeTempDir();
  const target = join(directory, "node_modules");
  await mkdir(target);
  const { stdout } = await run(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", directory],
    { cwd: CHECKOUT, shell: process.platform === "win32", maxBuffer: 2 ** 26 },
  );
  const [{ filename, unpackedSize }] = JSON.parse(stdout);
  await run("tar", ["-xzf", filename], { cwd: directory });
  await rename(join(directory, "package"), join(target, "tiltyard"));
  const { dependencies } = JSON.parse(await readFile(join(CHECKOUT, "package.json"), "utf8"));
  for (const name of [...new Set([...Object.keys(dependencies), ...modules.flatMap(expand)])]) {
    const from = join(
      CHECKOUT,
      OF_REFERENCE.includes(name) ? "test/reference/node_modules" : "node_modules",
      name,
    );
    await mkdir(dirname(join(target, name)), { recursive: true });
    await symlink(from, join(target, name), "junction");
  }
  await writeFile(join(directory, "package.json"), JSON.stringify({ name: "stranger", type: "module" }));
  return { directory, unpackedBytes: unpackedSize };
}

/** Expands a scope with a star to all its packages. */
function expand(name: string): string[] {
  if (!name.endsWith("/*")) return [name];
  const scope = name.slice(0, -2);
  return readdirSync(join(CHECKOUT, "node_modules", scope)).map((each) => `${scope}/${each}`);
}

/** Makes a directory with links to the built package, to apache-arrow and to the types of Node.js. */
export async function makeLinkedProject(): Promise<string> {
  const project = await makeTempDir();
  await mkdir(join(project, "node_modules", "@types"), { recursive: true });
  for (const [name, target] of [
    ["tiltyard", CHECKOUT],
    ["apache-arrow", join(CHECKOUT, "node_modules", "apache-arrow")],
    [join("@types", "node"), join(CHECKOUT, "node_modules", "@types", "node")],
  ]) {
    await symlink(target, join(project, "node_modules", name), "junction");
  }
  return project;
}
