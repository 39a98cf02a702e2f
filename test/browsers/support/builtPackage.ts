/** The package as it is built, because only the build has the inspector's page. */

import { fileURLToPath } from "node:url";
import type { DirectoryNamespace } from "tiltyard";

const DIST = new URL("../../../dist/", import.meta.url);

/** The page that needs no server. */
export const INSPECTOR_FILE = fileURLToPath(new URL("inspector.html", DIST));

/** Imports an entry of the built package. */
export const built = async <Module>(entry: string): Promise<Module> =>
  (await import(new URL(`esm/${entry}.js`, DIST).href)) as Module;

/** Opens a namespace of the built package. */
export async function openBuiltNamespace(root: string): Promise<DirectoryNamespace> {
  const { DirectoryNamespace } = await built<typeof import("tiltyard")>("index");
  return new DirectoryNamespace({ root, durability: "none" });
}
