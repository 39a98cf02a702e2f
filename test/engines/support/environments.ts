/**
 * Virtual environments of Python with the packages of one engine each. Their versions are locked in
 * `environments/<name>.txt`, which `environments/lock.sh` makes from `environments/<name>.in`.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import lockfile from "proper-lockfile";

const run = promisify(execFile);

export const ENGINES =
  process.env.TILTYARD_ENGINES ?? fileURLToPath(new URL("../../../.engines", import.meta.url));
const LOCKED = fileURLToPath(new URL("../environments/", import.meta.url));
/** Installs packages in a tenth of the time of pip, and keeps a package of several environments once. */
const UV = "uv==0.13.9";
const MINUTES_MS = 60_000;

const isWindows = process.platform === "win32";
const executable = (directory: string, name: string): string =>
  isWindows ? join(directory, "Scripts", `${name}.exe`) : join(directory, "bin", name);

/** The Python that environments are made from. */
export const PYTHON = process.env.PYTHON ?? (isWindows ? "python" : "python3");

/**
 * Installs an environment unless it is there.
 * @param name of the lock file
 * @returns the path of its Python
 * @throws Error if there is no Python, or if a package can't be had
 */
export async function environment(name: string): Promise<string> {
  const lock = await readFile(join(LOCKED, `${name}.txt`), "utf8");
  return installed(name, lock, async (directory) => {
    const uv = await installer();
    const options = {
      timeout: 10 * MINUTES_MS,
      maxBuffer: 2 ** 26,
      env: { ...process.env, UV_PYTHON_DOWNLOADS: "never" },
    };
    await run(uv, ["venv", "--quiet", "--python", PYTHON, directory], options);
    const requirements = join(LOCKED, `${name}.txt`);
    const python = executable(directory, "python");
    await run(
      uv,
      ["pip", "install", "--quiet", "--no-deps", "--python", python, "--requirements", requirements],
      options,
    );
  });
}

/** Path of the Python in an environment that is installed. */
const pythonOf = (directory: string): string => executable(directory, "python");

async function installer(): Promise<string> {
  const python = await installed("uv", UV, async (directory) => {
    await run(PYTHON, ["-m", "venv", directory]);
    await run(executable(directory, "python"), ["-m", "pip", "install", "--quiet", UV], {
      timeout: 5 * MINUTES_MS,
    });
  });
  return join(python, "..", isWindows ? "uv.exe" : "uv");
}

/** @param content what is installed: the directory is made again if it changes */
async function installed(
  name: string,
  content: string,
  install: (directory: string) => Promise<void>,
): Promise<string> {
  const directory = join(ENGINES, name);
  const stamp = join(ENGINES, `${name}.installed`);
  const digest = createHash("sha256").update(content).digest("hex");
  await mkdir(ENGINES, { recursive: true });
  // Test files run at the same time, and two may want the same environment.
  const release = await lockfile.lock(directory, {
    realpath: false,
    stale: 2 * MINUTES_MS,
    retries: { retries: 10_000, factor: 1, minTimeout: 200, maxTimeout: 200 },
  });
  try {
    if ((await readFile(stamp, "utf8").catch(() => "")) !== digest) {
      await rm(directory, { recursive: true, force: true });
      await install(directory);
      await writeFile(stamp, digest);
    }
  } finally {
    await release();
  }
  return pythonOf(directory);
}
