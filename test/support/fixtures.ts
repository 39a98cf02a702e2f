/**
 * Fixtures for tests: fresh directories, namespaces in them, and the reference.
 *
 * The fixtures of {@link it} belong to one test. The `shared` functions make what all tests of a file or of a
 * `describe` use: call them before its own hooks.
 */

import { DirectoryNamespace } from "tiltyard";
import { afterAll, it as base, beforeAll } from "vitest";
import { rm } from "./suite/rootFiles.js";
import { makeTempDir, makeTempDirAt, newTempPath } from "./tempDir.js";

export { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished } from "vitest";

export type NamespaceOptions = Partial<ConstructorParameters<typeof DirectoryNamespace>[0]>;

/**
 * `it` with fixtures of its test. Tests of `it.for` get them as their second argument, those of `it.each`
 * none.
 *
 * - `root`: a fresh directory
 * - `open(options?)`: opens a namespace in `root` that does not wait for the disk; it closes after the test
 * - `ns`: a namespace from `open`
 * - `theirs`: a connection of the reference to `root`; it sees new versions at once
 */
export const it = base
  .extend("root", () => makeTempDir())
  .extend("open", ({ root }, { onCleanup }) => {
    const opened: DirectoryNamespace[] = [];
    onCleanup(async () => {
      for (const ns of opened) await ns.close();
    });
    return (options: NamespaceOptions = {}): DirectoryNamespace => {
      const ns = new DirectoryNamespace({ root, durability: "none", ...options });
      opened.push(ns);
      return ns;
    };
  })
  .extend("ns", ({ open }) => open())
  .extend("theirs", async ({ root }, { onCleanup }) => {
    // Only tests that use it load the native module.
    const { connect } = await import("tiltyard-reference/session.js");
    const connection = await connect(root, { readConsistencyInterval: 0 });
    onCleanup(() => connection.close());
    return connection;
  });

/** Returns the path of a directory that exists while the tests of the file or `describe` run. */
export function sharedDirectory(): string {
  const directory = newTempPath();
  beforeAll(() => makeTempDirAt(directory));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/**
 * Opens a namespace, by default in a fresh directory, that closes after the tests of the file or `describe`.
 */
export function sharedNamespace(options: NamespaceOptions = {}): DirectoryNamespace {
  const root = options.root ?? sharedDirectory();
  const ns = new DirectoryNamespace({ root, durability: "none", ...options });
  afterAll(() => ns.close());
  return ns;
}
