/** Files of other programs in a table's directory, such as Geneva's in `_udfs/`, survive every cleanup. */

import { existsSync } from "node:fs";
import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DirectoryNamespace } from "tiltyard";
import { expect } from "vitest";
import { it } from "../../support/fixtures.js";

const YEAR_S = 365 * 24 * 60 * 60;
const id = ["t"];
/** File name of a function, as Geneva makes it. */
const SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/** Foreign paths in the directory of a table, and of a branch. */
const FOREIGN = [
  `_udfs/${SHA}`,
  `_udfs/nested/deep/${SHA}`,
  "_udfs/data/x.lance",
  "_udfs/_versions/1.manifest",
  "_udfs/_indices/0d1f2a3b-4c5d-6e7f-8091-a2b3c4d5e6f7/page",
  ".udfs/data/x.lance",
  "unknown/a.lance",
  "unknown/nested/a.txn",
  "notes.txt",
  "notes#1",
  "data/notes.txt",
  "data/notes/a.txt",
  "data/backup/1.blob",
  "_versions/notes.txt",
  "_transactions/notes.txt",
  "_transactions/notes/a.txn",
  "_deletions/notes.txt",
  "_indices/notes.txt",
  "_indices/notes/page",
  "_tiltyard/notes.txt",
];
/** Foreign paths in the table's directory only. */
const FOREIGN_REFS = [
  "_refs/notes.txt",
  "_refs/tags/notes.txt",
  "_refs/branches/notes.txt",
  "_refs/notes/a.json",
];
/** Foreign paths below the directory of branches. */
const FOREIGN_TREE = [
  "tree/notes.txt",
  "tree/unknown/notes.txt",
  "tree/unknown/data/notes.txt",
  "tree/_udfs/data/x.lance",
];

/** Empty directories, into which another program may be about to write. */
const FOREIGN_DIRECTORIES = [
  "data/scratch",
  "_indices/scratch",
  "_transactions/scratch",
  "scratch",
  "_udfs/scratch",
];

let directory: string;
it.beforeEach(async ({ root, ns }) => {
  directory = join(root, "t.lance");
  await ns.createTable({ id }, [{ v: 1 }, { v: 2 }]);
  for (const branch of [undefined, "dev", "dev/below"]) {
    if (branch !== undefined) await ns.createTableBranch({ id, name: branch });
    await ns.insertIntoTable({ id, branch }, [{ v: 3 }]);
    await ns.deleteFromTable({ id, branch, predicate: "v = 1" });
    await ns.insertIntoTable({ id, branch }, [{ v: 1 }]);
  }
});

/** Writes files that are older than every retention, in directories that are, too. */
async function putOld(paths: readonly string[]): Promise<void> {
  const then = Date.now() / 1000 - YEAR_S;
  for (const path of paths) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, path);
    for (let old = file; old !== directory; old = dirname(old)) await utimes(old, then, then);
  }
}

async function putOldDirectories(paths: readonly string[]): Promise<void> {
  const then = Date.now() / 1000 - YEAR_S;
  for (const path of paths) {
    await mkdir(join(directory, path), { recursive: true });
    await utimes(join(directory, path), then, then);
  }
}

/** Returns the paths whose files still have their first content. */
async function kept(paths: readonly string[]): Promise<string[]> {
  const present = paths.filter((path) => existsSync(join(directory, path)));
  const contents = await Promise.all(present.map((path) => readFile(join(directory, path), "utf8")));
  expect(contents).toEqual(present);
  return present;
}

/**
 * Runs every operation that removes files, except drops; returns the number of removed versions and files.
 */
async function cleanUpAll(ns: DirectoryNamespace, branch?: string): Promise<number> {
  const all = { olderThanMs: 0 } as const;
  await ns.optimizeTable({ id, branch });
  const first = await ns.cleanupTable({ id, branch, ...all });
  await ns.cleanupTable({ id, branch, ...all, deleteUnverified: true });
  await ns.insertIntoTable({ id, branch }, [{ v: 9 }]);
  const { versions } = await ns.listTableVersions({ id, branch });
  const [latest] = versions.map(({ version }) => version).sort((a, b) => b - a);
  await ns.batchDeleteTableVersions({
    id,
    branch,
    ranges: [{ startVersion: latest - 1, endVersion: latest }],
  });
  const last = await ns.cleanupTable({ id, branch, ...all, deleteUnverified: true });
  return first.versionsRemoved + first.filesRemoved + last.filesRemoved;
}

it("other programs' files and directories survive every cleanup of a table and of its branches", async ({
  ns,
}) => {
  const branches = ["dev", "dev/below"];
  const paths = [
    ...FOREIGN,
    ...FOREIGN_REFS,
    ...FOREIGN_TREE,
    ...branches.flatMap((branch) => FOREIGN.map((path) => `tree/${branch}/${path}`)),
  ];
  await putOld(paths);
  await putOldDirectories(FOREIGN_DIRECTORIES);
  for (const branch of ["dev/below", "dev", undefined]) {
    expect(await cleanUpAll(ns, branch), branch).toBeGreaterThan(2);
  }
  expect(await kept(paths)).toEqual(paths);
  expect(FOREIGN_DIRECTORIES.filter((path) => existsSync(join(directory, path)))).toEqual(
    FOREIGN_DIRECTORIES,
  );
  for (const branch of [undefined, ...branches]) {
    const values = (await ns.table(id, { branch }).scan().toArray()).map(({ v }) => v);
    expect(values.sort()).toEqual(branch === undefined ? [1, 2, 3, 9] : [1, 2, 3, 3, 9]);
  }

  // Deleting a branch removes everything in its directory, like dropping a table does, and nothing else.
  for (const name of ["dev/below", "dev"]) await ns.deleteTableBranch({ id, name });
  await cleanUpAll(ns);
  const outside = paths.filter((path) => !path.startsWith("tree/dev/"));
  expect(await kept(outside)).toEqual(outside);
});
