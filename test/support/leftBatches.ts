/** Batches whose process died right after their decision, and disks on which some calls fail. */

import type { DirectoryNamespaceOptions } from "tiltyard";
import { DirectoryNamespace } from "tiltyard";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { wrapCalls } from "./wrappedDisk.js";

export const MUTATING: ReadonlySet<keyof Disk> = new Set<keyof Disk>([
  ...(["create", "overwrite", "link", "rename", "makeDirectory"] as const),
  ...(["remove", "removeTree", "removeEmptyDirectory"] as const),
]);

export const platformError = (code: string): Error => Object.assign(new Error(`${code}: test`), { code });

/** Makes a disk whose calls fail with the code that `whyNot` returns for their paths. */
export const refusingDisk = (
  inner: Disk,
  whyNot: (verb: keyof Disk, paths: readonly string[]) => string | undefined,
): Disk =>
  wrapCalls(inner, async (verb, operands, make) => {
    const paths = operands.filter((operand) => typeof operand === "string");
    const code = whyNot(verb as keyof Disk, paths);
    if (code !== undefined) throw platformError(code);
    return make(...operands);
  });

const isDecision = (verb: keyof Disk, paths: readonly string[]): boolean =>
  verb === "link" && /[/\\]\.tiltyard-batches[/\\].*journal\.json$/.test(paths[1] ?? "");

/** Runs a call on an engine whose disk dies right after the decision of a batch; returns the error. */
export async function dieBehindDecision(
  options: DirectoryNamespaceOptions,
  call: (ns: DirectoryNamespace) => Promise<unknown>,
): Promise<unknown> {
  let isDecided = false;
  const disk = refusingDisk(new NodeDisk({ durability: "none" }), (verb, paths) => {
    if (isDecided) return "EIO";
    isDecided = isDecision(verb, paths);
    return undefined;
  });
  const ns = new DirectoryNamespace({ durability: "none", ...options, disk } as DirectoryNamespaceOptions);
  const error = await call(ns).then(
    () => new Error("the batch came to its end"),
    (reason: unknown) => reason,
  );
  await ns.close();
  if (!isDecided) throw error;
  return error;
}
