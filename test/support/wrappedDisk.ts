/** Disks whose calls do something else as well. */

import type { Disk, ReadHandle, WriteHandle } from "../../src/io/disk/disk.js";

/** Verbs of `Disk`, and those of its handles. */
export type Verb = keyof Disk | "read" | "close" | "write" | "sync";

type Around = (verb: string, operands: unknown[], make: (...operands: unknown[]) => unknown) => unknown;

/** Calls `around` in place of each method; its `make` calls the method. */
export const wrapCalls = <Target extends object>(target: Target, around: Around): Target =>
  new Proxy(target, {
    get(_, member) {
      const value = Reflect.get(target, member);
      if (typeof value !== "function") return value;
      const make = (...operands: unknown[]): unknown => Reflect.apply(value, target, operands);
      return (...operands: unknown[]) => around(String(member), operands, make);
    },
  });

/** Adds members to a target; they hide its members of the same name. */
export const withMembers = <Target extends object, Members extends object>(
  target: Target,
  members: Members,
): Target & Members =>
  new Proxy(target, {
    get(_, member) {
      const owner = member in members ? members : target;
      const value = Reflect.get(owner, member);
      return typeof value === "function" ? value.bind(owner) : value;
    },
  }) as Target & Members;

export const replacedVerbs = (inner: Disk, verbs: Partial<Disk>): Disk => withMembers(inner, verbs);

export interface DiskCall {
  readonly verb: Verb;
  /** First path; the last one of `link` and `rename`; that of a handle. */
  readonly path: string;
  readonly operands: readonly unknown[];
  readonly make: () => Promise<unknown>;
}

/** Calls `around` in place of each call of a disk and of its handles, which have no optional methods. */
export function wrapDisk(inner: Disk, around: (call: DiskCall) => Promise<unknown>): Disk {
  const wrapHandle = (path: string, handle: ReadHandle | WriteHandle) => {
    const wrapped = wrapCalls(handle, (verb, operands, make) => {
      // It comes with the opening.
      if (verb === "takeTail") return make();
      return around({ verb: verb as Verb, path, operands, make: async () => make(...operands) });
    });
    return withMembers(wrapped, { readInto: undefined, takesChunksAtOnce: undefined });
  };
  return wrapCalls(inner, (verb, operands, make) => {
    const path = String(operands[verb === "link" || verb === "rename" ? 1 : 0]);
    const makeWrapped = async () => {
      const answer = await make(...operands);
      const isHandle = answer !== null && (verb === "open" || verb === "create");
      return isHandle ? wrapHandle(path, answer as ReadHandle | WriteHandle) : answer;
    };
    return around({ verb: verb as Verb, path, operands, make: makeWrapped });
  });
}
