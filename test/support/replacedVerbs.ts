import type { Disk } from "../../src/io/disk/disk.js";

/** Returns a disk that makes some calls in its own way, and all others by `inner`. */
export const replacedVerbs = (inner: Disk, verbs: Partial<Disk>): Disk =>
  new Proxy(inner, {
    get(target, verb) {
      const replacement = Reflect.get(verbs, verb);
      if (replacement !== undefined) return replacement;
      const value = Reflect.get(target, verb);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
