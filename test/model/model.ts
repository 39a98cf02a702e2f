/**
 * The model of a namespace: plain maps. Every method changes the maps, or throws a {@link ModelError} with
 * the type of the error that the engine must give.
 */

export class ModelError extends Error {
  readonly type: string;
  constructor(type: string) {
    super(type);
    this.type = type;
  }
}

export function outcomeOf(run: () => void): string {
  try {
    run();
    return "done";
  } catch (error) {
    if (error instanceof ModelError) return error.type;
    throw error;
  }
}

const refuse = (type: string): never => {
  throw new ModelError(type);
};

type Id = readonly string[];

export interface Content {
  /** Values of the column `v`, which all tables have. */
  readonly rows: readonly number[];
  readonly columns: readonly ContentColumn[];
  /** Metadata of the column `v`. */
  readonly metadata: Readonly<Record<string, string>>;
}

export type ContentColumn = readonly [name: string, values: readonly (number | null)[]];

/** A row of a fragment; a deleted one stays in it. */
interface ModelRow {
  readonly value: number;
  /** Values of added columns by name; absent: null. */
  readonly others: Readonly<Record<string, number | null>>;
  readonly isDeleted: boolean;
}

/** A version, with data that only later versions reveal. */
interface ModelVersion {
  readonly metadata: Content["metadata"];
  readonly names: readonly string[];
  /** Fragments with at least one live row. */
  readonly fragments: readonly (readonly ModelRow[])[];
  /** True if an append planned on the version before always succeeds after this one. */
  readonly isAddition?: boolean;
}

type History = Map<number, ModelVersion>;

export interface ModelBranch {
  readonly history: History;
  /** Identities of this branch and its ancestors; empty for main. A recreated branch has a new identity. */
  readonly lineage: readonly symbol[];
  /** Version that it was made from; absent for main. */
  readonly fork?: { readonly from: string; readonly version: number };
}

export interface ModelTable {
  /** Branches by name; the main branch is "main". Its history is empty while the table is only declared. */
  readonly branches: Map<string, ModelBranch>;
  readonly tags: Map<string, { readonly branch: string; readonly version: number }>;
  /** True if rows keep their ids. */
  isStable: boolean;
}

const latestOf = (history: History): number => Math.max(...history.keys());
const keyOf = (path: Id): string => path.join("$");

export interface ModelBatch {
  readonly created: readonly { readonly id: Id; readonly version: number }[];
  /** From `from` up to `to`, exclusive; -1 is after the latest. */
  readonly deleted: readonly {
    readonly id: Id;
    readonly branch: string;
    readonly from: number;
    readonly to: number;
  }[];
  readonly declared: readonly Id[];
  readonly deregistered: readonly Id[];
}

/** Target of an insert at its start. */
export interface ModelTarget {
  readonly id: Id;
  readonly branch: string;
  readonly table: ModelTable;
  /** Last identity of the branch's lineage; absent for main. */
  readonly identity?: symbol;
  readonly latest: ModelVersion | undefined;
  /** Number of copies that were put back over it. */
  readonly timesPutBack: number;
}

export interface SavedTable {
  readonly table: ModelTable;
}

/** The whole state as comparable JSON. */
export interface State {
  readonly namespaces: readonly string[];
  readonly tables: Readonly<Record<string, TableState>>;
}

export interface TableState {
  readonly branches: Readonly<Record<string, Readonly<Record<string, Content>>>>;
  readonly tags: Readonly<Record<string, { readonly branch: string; readonly version: number }>>;
}

export class Model {
  readonly #namespaces = new Set<string>();
  readonly #tables = new Map<string, ModelTable>();
  /** Deregistered tables of the root, which block their names. */
  readonly #hidden = new Map<string, ModelTable>();
  /** Deregistered tables of child namespaces: invisible, but their directories stay. */
  readonly #detached = new Set<ModelTable>();
  /** By table: number of copies that were put back over it. */
  readonly #putBack = new Map<ModelTable, number>();

  state(): State {
    const sorted = <T>(entries: Iterable<readonly [string | number, T]>) =>
      Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
    return {
      namespaces: [...this.#namespaces].sort(),
      tables: sorted(
        [...this.#tables].map(([id, table]) => [
          id,
          {
            branches: sorted(
              [...table.branches].map(([branch, { history }]) => [
                branch,
                sorted([...history].map(([version, content]) => [version, contentOf(content)])),
              ]),
            ),
            tags: sorted(table.tags),
          },
        ]),
      ) as State["tables"],
    };
  }

  copy(): Model {
    const copy = new Model();
    for (const key of this.#namespaces) copy.#namespaces.add(key);
    for (const [key, table] of this.#tables) copy.#tables.set(key, copyOf(table));
    for (const [key, table] of this.#hidden) copy.#hidden.set(key, copyOf(table));
    return copy;
  }

  createNamespace(path: Id, existOk: boolean): void {
    this.#requireNamespace(path.slice(0, -1));
    if (this.#namespaces.has(keyOf(path))) {
      if (!existOk) refuse("NamespaceAlreadyExists");
      return;
    }
    this.#namespaces.add(keyOf(path));
  }

  dropNamespace(path: Id, cascade: boolean): void {
    this.#requireNamespace(path);
    const below = `${keyOf(path)}$`;
    const inside = (map: Iterable<string>) => [...map].filter((key) => key.startsWith(below));
    const [namespaces, tables] = [inside(this.#namespaces), inside(this.#tables.keys())];
    if (namespaces.length + tables.length > 0 && !cascade) refuse("NamespaceNotEmpty");
    for (const key of [...namespaces, keyOf(path)]) this.#namespaces.delete(key);
    for (const key of tables) this.#tables.delete(key);
  }

  #requireNamespace(path: Id): void {
    for (let depth = 1; depth <= path.length; depth++) {
      if (!this.#namespaces.has(keyOf(path.slice(0, depth)))) refuse("NamespaceNotFound");
    }
  }

  declareTable(id: Id): void {
    this.#requireNamespace(id.slice(0, -1));
    this.#requireFree(id);
    this.#tables.set(keyOf(id), newTable());
  }

  createTable(id: Id, mode: string, rows: readonly number[]): void {
    this.#requireNamespace(id.slice(0, -1));
    if (this.#hidden.has(keyOf(id))) refuse("TableAlreadyExists");
    const table = this.#tables.get(keyOf(id)) ?? newTable();
    const main = mainOf(table);
    if (main.size > 0 && mode === "Create") refuse("TableAlreadyExists");
    if (main.size > 0 && mode === "ExistOk") return;
    if (main.size === 0) table.isStable = isStableAt(id);
    // The table was copied from elsewhere, or its first rows were inserted.
    else if (isStableAt(id) && !table.isStable) refuse("InvalidInput");
    add(main, { metadata: {}, names: [], fragments: fragmentsOf(rows) });
    this.#tables.set(keyOf(id), table);
  }

  dropTable(id: Id): void {
    this.#table(id);
    this.#tables.delete(keyOf(id));
  }

  renameTable(id: Id, newId: Id): void {
    const table = this.#table(id);
    this.#requireNamespace(newId.slice(0, -1));
    this.#requireFree(newId);
    const moves = id.length === 1 || newId.length === 1;
    if (moves && table.branches.size > 1) refuse("Unsupported");
    this.#tables.delete(keyOf(id));
    this.#tables.set(keyOf(newId), table);
  }

  deregisterTable(id: Id): void {
    const table = this.#table(id);
    this.#tables.delete(keyOf(id));
    if (id.length === 1) this.#hidden.set(keyOf(id), table);
    else this.#detached.add(table);
  }

  registerTable(name: string): void {
    if (this.#tables.has(name)) refuse("TableAlreadyExists");
    this.#tables.set(name, this.#hidden.get(name) ?? refuse("InvalidInput"));
    this.#hidden.delete(name);
  }

  #requireFree(id: Id): void {
    if (this.#tables.has(keyOf(id)) || this.#hidden.has(keyOf(id))) refuse("TableAlreadyExists");
  }

  #table(id: Id): ModelTable {
    this.#requireNamespace(id.slice(0, -1));
    return this.#tables.get(keyOf(id)) ?? refuse("TableNotFound");
  }

  #history(id: Id, branch: string): History {
    return this.#branch(id, branch).history;
  }

  /** @throws ModelError if the table is only declared */
  #latest(id: Id, branch: string): { history: History; latest: ModelVersion } {
    const history = this.#history(id, branch);
    return { history, latest: history.get(latestOf(history)) ?? refuse("InvalidTableState") };
  }

  #branch(id: Id, branch: string): ModelBranch {
    return this.#table(id).branches.get(branch) ?? refuse("TableBranchNotFound");
  }

  insert(id: Id, branch: string, overwrite: boolean, rows: readonly number[]): void {
    const history = this.#history(id, branch);
    const before = overwrite ? undefined : history.get(latestOf(history));
    append(history, before, rows);
  }

  /** Deletes rows below a limit; with an increment, appends them again with the increment added. */
  changeRows(id: Id, branch: string, below: number, increment: number | null): void {
    const { history, latest } = this.#latest(id, branch);
    const isResolved = ({ value, isDeleted }: ModelRow) => !isDeleted && value < below;
    const left = latest.fragments.map((fragment) =>
      fragment.map((row) => (isResolved(row) ? { ...row, isDeleted: true } : row)),
    );
    const moved =
      increment === null
        ? []
        : latest.fragments
            .flat()
            .filter(isResolved)
            .map((row) => ({ ...row, value: row.value + increment }));
    add(history, { ...latest, fragments: [...left, moved], isAddition: true });
  }

  /**
   * Upserts by the column `v`: rows with one of the values move to the end, before the new rows. If neither
   * ids nor other columns are kept, the source rows follow in their order, then second copies.
   */
  mergeRows(id: Id, branch: string, values: readonly number[]): void {
    const { isStable } = this.#table(id);
    const history = this.#history(id, branch);
    const latest = history.get(latestOf(history));
    if (latest === undefined) {
      append(history, undefined, values);
      return;
    }
    const isResolved = ({ value, isDeleted }: ModelRow) => !isDeleted && values.includes(value);
    const replaced = latest.fragments.flat().filter(isResolved);
    const present = replaced.map(({ value }) => value);
    if (present.some((value) => values.filter((each) => each === value).length > 1)) refuse("InvalidInput");
    const left = latest.fragments.map((fragment) =>
      fragment.map((row) => (isResolved(row) ? { ...row, isDeleted: true } : row)),
    );
    const added =
      isStable || latest.names.length > 0
        ? [replaced, ...fragmentsOf(values.filter((value) => !present.includes(value)))]
        : [replaced.filter(({ value }, index) => present.indexOf(value) < index), ...fragmentsOf(values)];
    add(history, { ...latest, fragments: [...left, ...added], isAddition: true });
  }

  addColumn(id: Id, branch: string, name: string): void {
    const { history, latest } = this.#latest(id, branch);
    if (latest.names.includes(name)) refuse("InvalidInput");
    const fragments = latest.fragments.map((fragment) =>
      fragment.map((row) => ({ ...row, others: { ...row.others, [name]: 2 * row.value } })),
    );
    add(history, { ...latest, names: [...latest.names, name], fragments, isAddition: false });
  }

  dropColumn(id: Id, branch: string, name: string): void {
    const { history, latest } = this.#latest(id, branch);
    if (!latest.names.includes(name)) refuse("TableColumnNotFound");
    const fragments = withOthers(latest, ({ [name]: _, ...others }) => others);
    const names = latest.names.filter((each) => each !== name);
    add(history, { ...latest, names, fragments, isAddition: false });
  }

  renameColumn(id: Id, branch: string, from: string, to: string): void {
    const { history, latest } = this.#latest(id, branch);
    if (!latest.names.includes(from)) refuse("TableColumnNotFound");
    if (to !== from && latest.names.includes(to)) refuse("InvalidInput");
    const fragments = withOthers(latest, ({ [from]: value, ...others }) => ({ ...others, [to]: value }));
    const names = latest.names.map((each) => (each === from ? to : each));
    add(history, { ...latest, names, fragments, isAddition: false });
  }

  target(id: Id, branch: string): ModelTarget {
    const table = this.#table(id);
    const { history, lineage } = this.#branch(id, branch);
    const latest = history.get(latestOf(history));
    return { id, branch, table, identity: lineage.at(-1), latest, timesPutBack: this.#timesPutBack(table) };
  }

  #timesPutBack(table: ModelTable): number {
    return this.#putBack.get(table) ?? 0;
  }

  /** True if an append to the target must succeed, because only additions followed. */
  isCalm({ id, branch, table, identity, latest, timesPutBack }: ModelTarget): boolean {
    if (this.#tables.get(keyOf(id)) !== table || this.#timesPutBack(table) !== timesPutBack) return false;
    const modelBranch = table.branches.get(branch);
    if (modelBranch === undefined || modelBranch.lineage.at(-1) !== identity) return false;
    const { history } = modelBranch;
    if (latest === undefined) return history.size === 0;
    const versions = [...history].sort(([a], [b]) => a - b).map(([, version]) => version);
    const since = versions.slice(versions.indexOf(latest));
    return since[0] === latest && since.slice(1).every(({ isAddition }) => isAddition);
  }

  /** Adds rows to the table and branch of the target, even after a rename. */
  insertInto({ branch, table, identity }: ModelTarget, rows: readonly number[]): void {
    const present = [...this.#tables.values(), ...this.#hidden.values(), ...this.#detached];
    const isThere = present.includes(table);
    const modelBranch = table.branches.get(branch);
    const isSame = isThere && modelBranch !== undefined && modelBranch.lineage.at(-1) === identity;
    const { history } = isSame ? modelBranch : refuse("TableNotFound");
    append(history, history.get(latestOf(history)), rows);
  }

  save(id: Id): SavedTable | null {
    const table = this.#tables.get(keyOf(id));
    return table === undefined ? null : { table: copyOf(table) };
  }

  putBack(id: Id, { table: saved }: SavedTable): void {
    const table = this.#table(id);
    const { branches, tags } = table;
    this.#putBack.set(table, this.#timesPutBack(table) + 1);
    const copy = copyOf(saved);
    branches.clear();
    for (const [name, branch] of copy.branches) branches.set(name, branch);
    tags.clear();
    for (const [name, tag] of copy.tags) tags.set(name, tag);
  }

  restore(id: Id, branch: string, version: number): void {
    const history = this.#history(id, branch);
    const restored = history.get(version) ?? refuse("TableVersionNotFound");
    add(history, { ...restored, isAddition: false });
  }

  /** @param entries null removes a key */
  updateMetadata(
    id: Id,
    branch: string,
    entries: Readonly<Record<string, string | null>>,
    replace: boolean,
  ): void {
    const { history, latest } = this.#latest(id, branch);
    const changed = Object.entries({ ...(replace ? {} : latest.metadata), ...entries });
    const metadata = Object.fromEntries(
      changed.filter((entry): entry is [string, string] => entry[1] !== null),
    );
    add(history, { ...latest, metadata, isAddition: false });
  }

  /** Applies all or nothing: versions with all rows twice, deleted versions, and new tables. */
  batch({ created, deleted, declared, deregistered }: ModelBatch): void {
    const histories = created.map(({ id, version }) => ({ history: this.#history(id, "main"), version }));
    for (const { id, branch } of deleted) this.#branch(id, branch);
    histories.sort((a, b) => a.version - b.version);
    for (const { history, version } of histories) {
      if (history.size === 0) refuse("InvalidInput");
      if (version <= latestOf(history)) refuse("ConcurrentModification");
    }
    const going = deleted.map(({ id, branch, from, to }) => this.#deletable(id, branch, from, to));
    for (const id of declared) {
      this.#requireNamespace(id.slice(0, -1));
      this.#requireFree(id);
    }
    for (const id of deregistered) this.#table(id);
    for (const { history, version } of histories) {
      const latest = history.get(latestOf(history)) as ModelVersion;
      const { fragments } = latest;
      // The second copy has the deleted rows as well.
      const again = fragments.map((fragment) => fragment.map((row) => ({ ...row, isDeleted: false })));
      history.set(version, { ...latest, fragments: [...fragments, ...again], isAddition: false });
    }
    for (const { history, versions } of going) for (const version of versions) history.delete(version);
    for (const id of declared) this.#tables.set(keyOf(id), newTable());
    for (const id of deregistered) this.deregisterTable(id);
  }

  /** @param to exclusive; -1 is after the latest */
  deleteVersions(id: Id, branch: string, from: number, to: number): void {
    const { history, versions } = this.#deletable(id, branch, from, to);
    for (const version of versions) history.delete(version);
  }

  #deletable(id: Id, branch: string, from: number, to: number) {
    const { history } = this.#branch(id, branch);
    const versions = [...history.keys()].filter((version) => version >= from && (to === -1 || version < to));
    const { tagged, forked } = this.#pinned(id, branch);
    for (const version of versions) {
      if (version === latestOf(history) || tagged.has(version) || forked.has(version)) refuse("InvalidInput");
    }
    return { history, versions };
  }

  /** @param retained number of newest versions that stay */
  cleanUp(id: Id, branch: string, retained: number, errorIfTagged: boolean): void {
    const { history } = this.#branch(id, branch);
    if (history.size === 0) refuse("InvalidTableState");
    const { tagged, forked } = this.#pinned(id, branch);
    const outdated = [...history.keys()].sort((a, b) => b - a).slice(retained);
    if (errorIfTagged && outdated.some((version) => tagged.has(version))) refuse("InvalidTableState");
    for (const version of outdated) {
      if (!tagged.has(version) && !forked.has(version)) history.delete(version);
    }
  }

  /**
   * Adds a version that reserves an id for the merged fragment, and unless `isWhole` is false the merged one.
   */
  optimize(id: Id, branch: string, isWhole: boolean): void {
    const { history, latest } = this.#latest(id, branch);
    const { fragments } = latest;
    const hasManyDeleted = fragments.some((fragment) => deletedShare(fragment) > MAX_DELETED_SHARE);
    if (fragments.length < 2 && !hasManyDeleted) return;
    add(history, { ...latest, isAddition: true });
    if (isWhole) add(history, { ...latest, fragments: [fragments.flat().filter(isLive)], isAddition: true });
  }

  #pinned(id: Id, branch: string) {
    const { branches, tags } = this.#table(id);
    const forks = [...branches.values()].map(({ fork }) => fork);
    return {
      tagged: new Set([...tags.values()].filter((tag) => tag.branch === branch).map((tag) => tag.version)),
      forked: new Set(forks.filter((fork) => fork?.from === branch).map((fork) => fork?.version)),
    };
  }

  /** @param version undefined is the latest */
  createBranch(id: Id, name: string, from: string, version: number | undefined): void {
    const { history, lineage } = this.#branch(id, from);
    if (history.size === 0 && version === undefined) refuse("InvalidTableState");
    const { branches } = this.#table(id);
    if (branches.has(name)) refuse("TableBranchAlreadyExists");
    const fork = version ?? latestOf(history);
    const content = history.get(fork) ?? refuse("TableVersionNotFound");
    branches.set(name, {
      history: new Map([[fork, content]]),
      lineage: [...lineage, Symbol(name)],
      fork: { from, version: fork },
    });
  }

  deleteBranch(id: Id, name: string): void {
    const { branches, tags } = this.#table(id);
    const doomed = branches.get(name) ?? refuse("TableBranchNotFound");
    const identity = doomed.lineage[doomed.lineage.length - 1];
    const isReferred =
      [...branches.values()].some((branch) => branch !== doomed && branch.lineage.includes(identity)) ||
      [...tags.values()].some((tag) => tag.branch === name);
    if (isReferred) refuse("InvalidInput");
    branches.delete(name);
  }

  createTag(id: Id, tag: string, branch: string, version: number): void {
    this.#setTag(id, tag, branch, version, false);
  }

  updateTag(id: Id, tag: string, branch: string, version: number): void {
    this.#setTag(id, tag, branch, version, true);
  }

  #setTag(id: Id, tag: string, branch: string, version: number, isThere: boolean): void {
    const { tags } = this.#table(id);
    const history = this.#history(id, branch);
    if (isThere && !tags.has(tag)) refuse("TableTagNotFound");
    if (!history.has(version)) refuse("TableVersionNotFound");
    if (!isThere && tags.has(tag)) refuse("TableTagAlreadyExists");
    tags.set(tag, { branch, version });
  }

  deleteTag(id: Id, tag: string): void {
    if (!this.#table(id).tags.delete(tag)) refuse("TableTagNotFound");
  }
}

/** True if rows of a new table with this id keep their ids. */
export const isStableAt = (id: Id): boolean => id.length > 1;

const newTable = (): ModelTable => ({
  branches: new Map([["main", { history: new Map(), lineage: [] }]]),
  tags: new Map(),
  isStable: false,
});

const copyOf = ({ branches, tags, isStable }: ModelTable): ModelTable => ({
  branches: new Map(
    [...branches].map(([name, branch]) => [name, { ...branch, history: new Map(branch.history) }]),
  ),
  tags: new Map(tags),
  isStable,
});

const mainOf = (table: ModelTable): History => (table.branches.get("main") as ModelBranch).history;

const fragmentsOf = (values: readonly number[]): ModelVersion["fragments"] =>
  values.length === 0 ? [] : [values.map((value) => ({ value, others: {}, isDeleted: false }))];

const isLive = ({ isDeleted }: ModelRow): boolean => !isDeleted;

function contentOf({ fragments, names, metadata }: ModelVersion): Content {
  const rows = fragments.flat().filter(isLive);
  return {
    rows: rows.map(({ value }) => value),
    columns: names.map((name) => [name, rows.map(({ others }) => others[name] ?? null)]),
    metadata,
  };
}

const withOthers = (
  { fragments }: ModelVersion,
  change: (others: ModelRow["others"]) => ModelRow["others"],
): ModelVersion["fragments"] =>
  fragments.map((fragment) => fragment.map((row) => ({ ...row, others: change(row.others) })));

/** Share of deleted rows above which a compaction rewrites a fragment. */
const MAX_DELETED_SHARE = 0.1;

const deletedShare = (fragment: readonly ModelRow[]): number =>
  fragment.filter(({ isDeleted }) => isDeleted).length / fragment.length;

/** @param before version to append to; undefined for a table without rows */
function append(history: History, before: ModelVersion | undefined, rows: readonly number[]): void {
  add(history, {
    metadata: before?.metadata ?? {},
    names: before?.names ?? [],
    fragments: [...(before?.fragments ?? []), ...fragmentsOf(rows)],
    isAddition: before !== undefined,
  });
}

/** Adds a version without the fragments whose rows are all deleted. */
function add(history: History, content: ModelVersion): void {
  const fragments = content.fragments.filter((fragment) => fragment.some(isLive));
  history.set(history.size === 0 ? 1 : latestOf(history) + 1, { ...content, fragments });
}
