/**
 * Checks if the state of a table equals that of its acknowledged changes in some order.
 *
 * Every change has a tag, and every row a trail: the tags of its changes, in order. For every two changes of
 * the same row, the trails tell which came first. These relations must not form a circle.
 */

export type ChangeKind = "append" | "upsert" | "update" | "delete";

export interface TaggedChange {
  readonly tag: string;
  readonly kind: ChangeKind;
  /** Ids of the rows that it changes; for an append or an upsert, those that it brings. */
  readonly ids: readonly number[];
  /** True if it may miss rows that arrived after its start, as the reference's rebased changes do. */
  readonly missesNewRows?: boolean;
}

export interface TrailedRow {
  readonly id: number;
  /** Tags, the oldest first. */
  readonly trail: readonly string[];
}

const describe = ({ kind, tag, ids }: TaggedChange) => `${kind} ${tag} of ${ids[0]} … ${ids[ids.length - 1]}`;

class Order {
  readonly #changes: ReadonlyMap<string, TaggedChange>;
  /** Later tags of each tag, and the reasons. */
  readonly #later = new Map<string, Map<string, string>>();

  constructor(changes: ReadonlyMap<string, TaggedChange>) {
    this.#changes = changes;
  }

  add(before: string, after: string, reason: string): void {
    const later = this.#later.get(before) ?? new Map<string, string>();
    if (!later.has(after)) later.set(after, reason);
    this.#later.set(before, later);
  }

  /** Returns a circle with the reason for each step; empty if there is none. */
  circle(): string[] {
    const done = new Set<string>();
    for (const start of this.#changes.keys()) {
      const circle = this.#circleFrom(start, done);
      if (circle.length > 0) return circle;
    }
    return [];
  }

  #circleFrom(start: string, done: Set<string>): string[] {
    if (done.has(start)) return [];
    const path = [{ tag: start, rest: this.#laterThan(start) }];
    const onPath = new Set([start]);
    while (path.length > 0) {
      const { tag, rest } = path[path.length - 1];
      const next = rest.pop();
      if (next === undefined) {
        path.pop();
        onPath.delete(tag);
        done.add(tag);
      } else if (onPath.has(next)) {
        const circle = [
          ...path.slice(path.findIndex((each) => each.tag === next)).map((each) => each.tag),
          next,
        ];
        return circle.slice(1).map((each, index) => this.#reason(circle[index], each));
      } else if (!done.has(next)) {
        onPath.add(next);
        path.push({ tag: next, rest: this.#laterThan(next) });
      }
    }
    return [];
  }

  #laterThan(tag: string): string[] {
    return [...(this.#later.get(tag)?.keys() ?? [])];
  }

  #reason(before: string, after: string): string {
    const [first, second] = [before, after].map((tag) => this.#changes.get(tag));
    if (first === undefined || second === undefined) throw new Error("a change that nobody made");
    return `${describe(first)} before ${describe(second)}: ${this.#later.get(before)?.get(after)}`;
  }
}

/**
 * Returns the contradictions to a serial order; `beginning` is the tag of the change that made the first
 * rows.
 */
export function contradictions(
  changes: readonly TaggedChange[],
  beginning: string,
  rows: readonly TrailedRow[],
): string[] {
  const byTag = new Map(changes.map((change) => [change.tag, change]));
  const flaws = rows.flatMap((row) => flawsOf(row, byTag));
  if (flaws.length > 0) return flaws;
  const order = new Order(byTag);
  for (const { tag } of changes) if (tag !== beginning) order.add(beginning, tag, "it was the first");
  const byId = new Map<number, TaggedChange[]>();
  for (const change of changes) {
    for (const id of change.ids) byId.set(id, [...(byId.get(id) ?? []), change]);
  }
  for (const row of rows) {
    const isNew = row.trail[0] !== beginning;
    const telling = (byId.get(row.id) ?? []).filter(({ missesNewRows }) => !(isNew && missesNewRows));
    orderByTrail(order, row, telling);
  }
  flaws.push(...orderByAbsence(order, rows, byId));
  return flaws.length > 0 ? flaws : order.circle();
}

function flawsOf({ id, trail }: TrailedRow, byTag: ReadonlyMap<string, TaggedChange>): string[] {
  const text = `row ${id}: ${trail.join(" ")}`;
  const flaws: string[] = [];
  if (new Set(trail).size < trail.length) flaws.push(`${text} was changed twice by one change`);
  for (const [index, tag] of trail.entries()) {
    const change = byTag.get(tag);
    if (change === undefined) flaws.push(`${text} was changed by ${tag}, which was refused`);
    else if (!change.ids.includes(id)) flaws.push(`${text} was changed by ${tag}, which is about others`);
    else if ((change.kind === "update") !== index > 0)
      flaws.push(`${text} can't have come about by ${change.kind}`);
  }
  return flaws;
}

/** Adds the order that the trail of a row implies for the changes of its id. */
function orderByTrail(order: Order, { id, trail }: TrailedRow, changes: readonly TaggedChange[]): void {
  for (const [index, tag] of trail.slice(1).entries()) {
    order.add(trail[index], tag, `row ${id} was changed so`);
  }
  for (const { tag, kind } of changes) {
    // An append does not touch an existing row. Any other change that the trail lacks came before the row.
    if (kind !== "append" && !trail.includes(tag)) order.add(tag, trail[0], `row ${id} does not show it`);
  }
}

/** Adds the order that missing rows imply. Returns missing rows that no change removed. */
function orderByAbsence(
  order: Order,
  rows: readonly TrailedRow[],
  byId: ReadonlyMap<number, readonly TaggedChange[]>,
): string[] {
  const present = new Set(rows.map(({ id, trail }) => `${id} ${trail[0]}`));
  const lost: string[] = [];
  for (const [id, changes] of byId) {
    const takers = changes.filter(({ kind }) => kind === "delete" || kind === "upsert");
    for (const { tag, kind } of changes) {
      if ((kind !== "append" && kind !== "upsert") || present.has(`${id} ${tag}`)) continue;
      const others = takers.filter((taker) => taker.tag !== tag);
      if (others.length === 0) lost.push(`row ${id} of ${kind} ${tag} is gone, and nothing took it away`);
      // If several changes could have removed it, none of them is certain.
      if (others.length === 1) order.add(tag, others[0].tag, `row ${id} was taken away by it`);
    }
  }
  return lost;
}
