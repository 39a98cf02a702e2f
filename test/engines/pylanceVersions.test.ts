/** Versions, tags and branches of either engine: a cleanup by either keeps the files that they need. */

import type { Table } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { MAJORS, openPair, type PylancePair } from "./support/pylance.js";
import { idRows, sortedIdsOf } from "./support/rows.js";

/** A version of the main branch or of another; without a version the latest. */
interface Point {
  readonly branch?: string;
  readonly version?: number;
}

interface Engine {
  append(name: string, branch: string | undefined, ...ids: number[]): Promise<unknown>;
  delete(name: string, branch: string | undefined, filter: string): Promise<unknown>;
  createTag(name: string, tag: string, point: Required<Pick<Point, "version">> & Point): Promise<unknown>;
  moveTag(name: string, tag: string, point: Required<Pick<Point, "version">> & Point): Promise<unknown>;
  deleteTag(name: string, tag: string): Promise<unknown>;
  createBranch(
    name: string,
    branch: string,
    from: Required<Pick<Point, "version">> & Point,
  ): Promise<unknown>;
  deleteBranch(name: string, branch: string): Promise<unknown>;
  restore(name: string, version: number): Promise<unknown>;
  cleanup(name: string): Promise<unknown>;
  read(name: string, point: Point): Promise<number[]>;
  readTag(name: string, tag: string): Promise<number[]>;
  /** Branch and version of each tag. */
  tags(name: string): Promise<Record<string, [string | null, number]>>;
  /** Parent and its version of each branch. */
  branches(name: string): Promise<Record<string, [string | null, number]>>;
  versions(name: string): Promise<number[]>;
}

function ours({ namespace }: PylancePair): Engine {
  const open = (name: string, point: Point = {}) => namespace.table([name], point);
  return {
    append: (name, branch, ...ids) => open(name, { branch }).insert(idRows(...ids)),
    delete: (name, branch, filter) => open(name, { branch }).delete(filter),
    createTag: (name, tag, point) => namespace.createTableTag({ id: [name], tag, ...point }),
    moveTag: (name, tag, point) => namespace.updateTableTag({ id: [name], tag, ...point }),
    deleteTag: (name, tag) => namespace.deleteTableTag({ id: [name], tag }),
    createBranch: (id, name, from) =>
      namespace.createTableBranch({ id: [id], name, fromBranch: from.branch, fromVersion: from.version }),
    deleteBranch: (id, name) => namespace.deleteTableBranch({ id: [id], name }),
    restore: (name, version) => open(name).restore(version),
    cleanup: (name) => open(name).cleanup({ olderThanMs: 0 }),
    read: async (name, point) => sortedIdsOf(await open(name, point).scan().toArrow()),
    readTag: async (name, tag) => sortedIdsOf(await namespace.table([name], { tag }).scan().toArrow()),
    async tags(name) {
      const { tags } = await namespace.listTableTags({ id: [name] });
      return Object.fromEntries(
        Object.entries(tags).map(([tag, { branch, version }]) => [tag, [branch ?? null, version]]),
      );
    },
    async branches(id) {
      const { branches } = await namespace.listTableBranches({ id: [id] });
      return Object.fromEntries(
        Object.entries(branches).map(([name, { parentBranch, parentVersion }]) => [
          name,
          [parentBranch ?? null, parentVersion],
        ]),
      );
    },
    async versions(id) {
      const { versions } = await namespace.listTableVersions({ id: [id] });
      return versions.map(({ version }) => version).sort((one, two) => one - two);
    },
  };
}

function theirs(pair: PylancePair): Engine {
  const point = ({ branch, version }: Point) => [branch ?? null, version ?? null];
  return {
    append: (name, branch, ...ids) => pair.there("append_to", name, point({ branch }), idRows(...ids)),
    delete: (name, branch, filter) => pair.there("delete_from", name, point({ branch }), filter),
    createTag: (name, tag, to) => pair.there("create_tag", name, tag, point(to)),
    moveTag: (name, tag, to) => pair.there("update_tag", name, tag, point(to)),
    deleteTag: (name, tag) => pair.there("delete_tag", name, tag),
    createBranch: (name, branch, from) => pair.there("create_branch", name, branch, point(from)),
    deleteBranch: (name, branch) => pair.there("delete_branch", name, branch),
    restore: (name, version) => pair.there("restore", name, version),
    cleanup: (name) => pair.there("cleanup", name),
    read: async (name, from) => sortedIdsOf(await pair.there<Table>("rows_of", name, point(from))),
    readTag: async (name, tag) => sortedIdsOf(await pair.there<Table>("rows_of", name, tag)),
    tags: (name) => pair.there("tags", name),
    branches: (name) => pair.there("branches", name),
    versions: (name) => pair.there("versions", name),
  };
}

describe.each(MAJORS)("pylance %i", (major) => {
  const pair = openPair(major);
  let engines: { readonly here: Engine; readonly there: Engine };
  beforeAll(() => {
    engines = { here: ours(pair), there: theirs(pair) };
  });

  /** Both engines see the same tags and branches, the same rows of each of them, and the same versions. */
  async function expectSame(name: string): Promise<{ tags: unknown; branches: unknown }> {
    const { here, there } = engines;
    const [tags, branches] = [await here.tags(name), await here.branches(name)];
    expect(await there.tags(name)).toEqual(tags);
    expect(await there.branches(name)).toEqual(branches);
    for (const tag of Object.keys(tags)) {
      expect(await there.readTag(name, tag), `tag ${tag}`).toEqual(await here.readTag(name, tag));
    }
    for (const branch of [undefined, ...Object.keys(branches)]) {
      expect(await there.read(name, { branch }), `branch ${branch}`).toEqual(
        await here.read(name, { branch }),
      );
    }
    const versions = await here.versions(name);
    expect(await there.versions(name)).toEqual(versions);
    for (const version of versions) {
      expect(await there.read(name, { version }), `version ${version}`).toEqual(
        await here.read(name, { version }),
      );
    }
    return { tags, branches };
  }

  async function makeTable(by: "here" | "there"): Promise<string> {
    const name = pair.freshName();
    if (by === "here") await pair.namespace.createTable({ id: [name] }, idRows(1));
    else await pair.there("write", name, idRows(1));
    for (const id of [2, 3, 4, 5]) await engines[id % 2 === 0 ? "here" : "there"].append(name, undefined, id);
    return name;
  }

  describe.each(["here", "there"] as const)("a table made %s", (maker) => {
    it.each([
      { first: "here", second: "there", said: "tags of ours, moved and deleted by pylance" },
      { first: "there", second: "here", said: "tags of pylance, moved and deleted by us" },
    ] as const)("$said", async ({ first, second }) => {
      const name = await makeTable(maker);
      await engines[first].createTag(name, "release", { version: 2 });
      await engines[first].createTag(name, "v1.0-rc_2", { version: 3 });
      expect(await expectSame(name)).toMatchObject({ tags: { release: [null, 2], "v1.0-rc_2": [null, 3] } });
      await engines[second].moveTag(name, "release", { version: 4 });
      await engines[second].deleteTag(name, "v1.0-rc_2");
      expect(await expectSame(name)).toMatchObject({ tags: { release: [null, 4] } });
      await expect(engines[second].createTag(name, "release", { version: 1 })).rejects.toThrow();
      await expect(engines[second].createTag(name, "never", { version: 99 })).rejects.toThrow();
      expect(await engines[second].readTag(name, "release")).toEqual([1, 2, 3, 4]);
    });

    it.each([
      { first: "here", second: "there", said: "branches of ours, written and deleted by pylance" },
      { first: "there", second: "here", said: "branches of pylance, written and deleted by us" },
    ] as const)("$said", async ({ first, second }) => {
      const name = await makeTable(maker);
      await engines[first].createBranch(name, "dev", { version: 3 });
      await expectSame(name);
      await engines[second].append(name, "dev", 30);
      await engines[first].append(name, "dev", 31);
      await engines[second].delete(name, "dev", "id = 2");
      await engines[second].append(name, undefined, 6);
      expect(await engines[first].read(name, { branch: "dev" })).toEqual([1, 3, 30, 31]);
      await engines[second].createBranch(name, "team/fix", { branch: "dev", version: 4 });
      await engines[first].append(name, "team/fix", 40);
      await engines[second].createTag(name, "on-dev", { branch: "dev", version: 5 });
      expect(await expectSame(name)).toEqual({
        tags: { "on-dev": ["dev", 5] },
        branches: { dev: [null, 3], "team/fix": ["dev", 4] },
      });
      expect(await engines[first].read(name, { branch: "team/fix" })).toEqual([1, 2, 3, 30, 40]);
      await engines[second].deleteBranch(name, "team/fix");
      expect(await expectSame(name)).toMatchObject({ branches: { dev: [null, 3] } });
    });

    it.each(["here", "there"] as const)("a version restored, and then cleaned up, %s", async (by) => {
      const name = await makeTable(maker);
      await engines[by].restore(name, 2);
      await engines.there.append(name, undefined, 50);
      await engines.here.append(name, undefined, 51);
      await expectSame(name);
      expect(await engines[by].read(name, {})).toEqual([1, 2, 50, 51]);
      await engines[by].cleanup(name);
      await expectSame(name);
      expect(await engines.here.versions(name)).toEqual([8]);
    });

    it.each(["here", "there"] as const)("a cleanup %s keeps what tags and branches need", async (by) => {
      const name = await makeTable(maker);
      await engines.here.createTag(name, "kept", { version: 2 });
      await engines.there.createBranch(name, "dev", { version: 3 });
      await engines.here.append(name, "dev", 30);
      await engines.there.append(name, "dev", 31);
      await engines.there.createTag(name, "kept-dev", { branch: "dev", version: 4 });
      // Nothing of the first versions is left in the latest.
      await engines.here.delete(name, undefined, "true");
      await engines.there.append(name, undefined, 60);
      await engines[by].cleanup(name);
      await expectSame(name);
      for (const engine of Object.values(engines)) {
        expect(await engine.readTag(name, "kept")).toEqual([1, 2]);
        expect(await engine.readTag(name, "kept-dev")).toEqual([1, 2, 3, 30]);
        expect(await engine.read(name, { branch: "dev" })).toEqual([1, 2, 3, 30, 31]);
        expect(await engine.read(name, {})).toEqual([60]);
      }
      expect(await engines.here.versions(name)).not.toContain(4);
    });
  });
});
