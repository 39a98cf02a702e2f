/** Batches whose process died right behind their decision, and disks on which some calls fail. */

import type { DirectoryNamespaceOptions } from "tiltyard";
import { DirectoryNamespace } from "tiltyard";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";

/** Verbs that change something. */
export const MUTATING: ReadonlySet<keyof Disk> = new Set<keyof Disk>([
  ...(["create", "overwrite", "link", "rename", "makeDirectory"] as const),
  ...(["remove", "removeTree", "removeEmptyDirectory"] as const),
]);

/** What a call fails with, as the platform reports it. */
export const platformError = (code: string): Error => Object.assign(new Error(`${code}: test`), { code });

/**
 * A disk whose calls fail where `whyNot` answers with a code.
 * @param whyNot is asked right before each call, with all its paths
 */
export function refusingDisk(
  inner: Disk,
  whyNot: (verb: keyof Disk, paths: readonly string[]) => string | undefined,
): Disk {
  return new Proxy(inner, {
    get(target, member) {
      const value = Reflect.get(target, member);
      if (typeof value !== "function") return value;
      return async (...operands: unknown[]) => {
        const paths = operands.filter((operand) => typeof operand === "string");
        const code = whyNot(member as keyof Disk, paths);
        if (code !== undefined) throw platformError(code);
        return Reflect.apply(value, target, operands);
      };
    },
  });
}

const isDecision = (verb: keyof Disk, paths: readonly string[]): boolean =>
  verb === "link" && /[/\\]\.tiltyard-batches[/\\].*journal\.json$/.test(paths[1] ?? "");

/**
 * Runs a call on an engine whose disk is dead from right behind the decision of a batch.
 * @returns what the call was rejected with
 */
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
