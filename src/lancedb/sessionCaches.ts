/** Caches that a session counts: those of the namespaces of its connections. */

import type { DirectoryNamespace } from "../DirectoryNamespace.js";

const namespacesOf = new WeakMap<object, Set<WeakRef<DirectoryNamespace>>>();

/** Lets a session count the caches of a namespace, for as long as the program uses it. */
export function countCaches(session: object, namespace: DirectoryNamespace): void {
  const namespaces = namespacesOf.get(session) ?? new Set();
  namespacesOf.set(session, namespaces);
  for (const reference of namespaces) if (reference.deref() === undefined) namespaces.delete(reference);
  namespaces.add(new WeakRef(namespace));
}

/** Returns the entries and bytes of all caches of a session. */
export function cachesOf(session: object): { readonly entries: number; readonly bytes: number } {
  const sum = { entries: 0, bytes: 0 };
  for (const reference of namespacesOf.get(session) ?? []) {
    const { entries = 0, bytes = 0 } = reference.deref()?.cachesNow?.total ?? {};
    sum.entries += entries;
    sum.bytes += bytes;
  }
  return sum;
}
