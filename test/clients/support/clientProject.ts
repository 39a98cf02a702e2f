/** Projects of LanceDB's users, with the drop-in or with LanceDB itself. */

import { execFile } from "node:child_process";
import { copyFile, mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeTempDir } from "../../support/tempDir.js";

const run = promisify(execFile);
const SHELL = process.platform === "win32";
const CHECKOUT = join(import.meta.dirname, "../../..");
/** Directory that the build writes the drop-in to. */
export const DROP_IN_PACKAGE = join(CHECKOUT, "build/tiltyard-lancedb");
const PROGRAMS = join(import.meta.dirname, "../programs");

/** True if the programs run on LanceDB instead of the drop-in. */
export const isNative = process.env["CLIENTS"] === "native";

export interface ClientOptions {
  /** Packages with their releases, such as `next@16`. */
  readonly packages: readonly string[];
  /** LanceDB release that these packages ask for. */
  readonly release: string;
  /** Release of apache-arrow, if the packages bring none. */
  readonly arrow?: string;
  /** True if LanceDB's range of apache-arrow excludes that release. */
  readonly isOutsideRange?: boolean;
}

let packed: Promise<string> | null = null;

/** Returns the path of the packed drop-in. */
export function packedDropIn(): Promise<string> {
  packed ??= (async () => {
    const directory = await realpath(await makeTempDir());
    const options = ["--json", "--ignore-scripts", "--pack-destination", directory];
    const { stdout } = await run("npm", ["pack", ...options], { cwd: DROP_IN_PACKAGE, shell: SHELL });
    return join(directory, JSON.parse(stdout)[0].filename);
  })();
  return packed;
}

/** Installs the packages, and the drop-in by an override, or LanceDB. */
export async function makeClientProject(client: ClientOptions): Promise<string> {
  const { packages, release, arrow, isOutsideRange } = client;
  const directory = await realpath(await makeTempDir());
  const parted = packages.map((each) => [each.replace(/(?<=.)@.*$/, ""), each.replace(/^.+@/, "")]);
  const manifest = {
    name: "client",
    private: true,
    type: "module",
    dependencies: {
      ...Object.fromEntries(parted),
      ...(arrow === undefined ? {} : { "apache-arrow": arrow }),
      "@lancedb/lancedb": isNative ? release : `file:${await packedDropIn()}`,
    },
    overrides: isNative ? {} : { "@lancedb/lancedb": "$@lancedb/lancedb" },
  };
  await writeFile(join(directory, "package.json"), JSON.stringify(manifest));
  // Scripts of packages load models and binaries that no program here needs.
  const options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline", "--ignore-scripts"];
  if (isNative && isOutsideRange) options.push("--legacy-peer-deps");
  await run("npm", ["install", ...options], { cwd: directory, shell: SHELL, maxBuffer: 2 ** 26 });
  return directory;
}

/** Copies the programs into a project. */
export async function copyPrograms(directory: string): Promise<void> {
  for (const name of await readdir(PROGRAMS)) await copyFile(join(PROGRAMS, name), join(directory, name));
}

/** Writes files below a directory. */
export async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(directory, name, ".."), { recursive: true });
    await writeFile(join(directory, name), text);
  }
}

/** Directories of LanceDB's packages that a project installed, without the drop-in's. */
export async function nativePackages(directory: string): Promise<string[]> {
  const names = await readdir(join(directory, "node_modules/@lancedb"));
  const { name } = JSON.parse(
    await readFile(join(directory, "node_modules/@lancedb/lancedb/package.json"), "utf8"),
  );
  return names.filter((each) => each !== "lancedb" || name === "@lancedb/lancedb");
}
