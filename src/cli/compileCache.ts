/**
 * Keeps compiled code for later runs of the command, in Node.js 22.1 and newer. The code lies in the user's
 * cache directory, where nobody else can put code in its place.
 * `NODE_COMPILE_CACHE` names another directory, and `NODE_DISABLE_COMPILE_CACHE=1` switches the cache off.
 */

import module from "node:module";
import os from "node:os";
import path from "node:path";

/** Returns the directory for caches of the user; null if the user has no home. */
function cacheDirectory(): string | null {
  const { platform, env } = process;
  const named = platform === "win32" ? env["LOCALAPPDATA"] : env["XDG_CACHE_HOME"];
  if (named !== undefined && path.isAbsolute(named)) return named;
  const others: Partial<Record<string, string[]>> = {
    win32: ["AppData", "Local"],
    darwin: ["Library", "Caches"],
  };
  const folders = others[platform] ?? [".cache"];
  try {
    return path.join(os.homedir(), ...folders);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SYSTEM_ERROR") return null;
    throw error;
  }
}

/** Switches the cache on, if there is one. */
export function keepCompiledCode(): void {
  const enable = module.enableCompileCache as typeof module.enableCompileCache | undefined;
  const directory = cacheDirectory();
  if (enable === undefined || directory === null) return;
  enable(process.env["NODE_COMPILE_CACHE"] ?? path.join(directory, "tiltyard", "compiled"));
}
