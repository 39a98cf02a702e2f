import { useMemo, useRef, useState } from "preact/hooks";
import { call } from "./calls.ts";
import { formatCount, visibleText } from "./format.ts";
import { Result } from "./parts.tsx";
import { useCall } from "./state.ts";
import { useVirtual } from "./useVirtual.ts";

/** Ids that the tree loads at most. */
const MAX_TABLES = 20_000;
const ROW_HEIGHT = 30;

interface Listed {
  readonly tables: readonly (readonly string[])[];
  readonly isCut: boolean;
}

async function listTables(signal: AbortSignal): Promise<Listed> {
  const tables: (readonly string[])[] = [];
  let pageToken: string | undefined;
  do {
    const page = await call("tables", pageToken === undefined ? {} : { pageToken }, signal);
    tables.push(...page.tables);
    pageToken = page.pageToken;
  } while (pageToken !== undefined && tables.length < MAX_TABLES);
  return { tables, isCut: pageToken !== undefined };
}

/** A row of the tree: a namespace or a table. */
interface Entry {
  readonly path: readonly string[];
  readonly depth: number;
  readonly isTable: boolean;
  /** Number of tables below a namespace. */
  readonly count: number;
}

/** Lists the visible rows. A search opens every namespace that has a match. */
function entriesOf(
  tables: readonly (readonly string[])[],
  search: string,
  closed: ReadonlySet<string>,
): Entry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = tables.filter((id) => {
    const text = id.join(" / ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const counts = new Map<string, number>();
  for (const id of matches) {
    for (let depth = 1; depth < id.length; depth++) {
      const key = JSON.stringify(id.slice(0, depth));
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  const entries: Entry[] = [];
  const seen = new Set<string>();
  for (const id of [...matches].sort(comparePaths)) {
    let isHidden = false;
    for (let depth = 1; depth < id.length && !isHidden; depth++) {
      const path = id.slice(0, depth);
      const key = JSON.stringify(path);
      if (!seen.has(key)) {
        seen.add(key);
        entries.push({ path, depth: depth - 1, isTable: false, count: counts.get(key) ?? 0 });
      }
      isHidden = words.length === 0 && closed.has(key);
    }
    if (!isHidden) entries.push({ path: id, depth: id.length - 1, isTable: true, count: 0 });
  }
  return entries;
}

/** Puts the tables of a namespace after the namespaces in it. */
function comparePaths(left: readonly string[], right: readonly string[]): number {
  for (let depth = 0; ; depth++) {
    const [isLeftTable, isRightTable] = [depth === left.length - 1, depth === right.length - 1];
    if (isLeftTable !== isRightTable) return isLeftTable ? 1 : -1;
    const order = left[depth].localeCompare(right[depth]);
    if (order !== 0 || isLeftTable) return order;
  }
}

export function TableTree({
  chosen,
  choose,
}: {
  readonly chosen: readonly string[] | null;
  choose(id: readonly string[]): void;
}) {
  const [search, setSearch] = useState("");
  const listed = useCall(listTables, []);
  return (
    <>
      <label class="search">
        <span class="hidden">Search tables</span>
        <input
          type="search"
          placeholder="Search tables"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <button type="button" class="icon" aria-label="List again" title="List again" onClick={listed.reload}>
          ↻
        </button>
      </label>
      <Result of={listed}>{(value) => <Tree {...{ ...value, search, chosen, choose }} />}</Result>
    </>
  );
}

type TreeProps = Listed & Parameters<typeof TableTree>[0] & { readonly search: string };

function Tree({ tables, isCut, search, chosen, choose }: TreeProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const entries = useMemo(() => entriesOf(tables, search, closed), [tables, search, closed]);
  const { items, totalSize, virtualizer } = useVirtual(box, {
    count: entries.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
  });
  const chosenKey = JSON.stringify(chosen);
  const focused = Math.min(active, entries.length - 1);
  const open = ({ path, isTable }: Entry, isOpen?: boolean) => {
    if (isTable) return choose(path);
    const key = JSON.stringify(path);
    const next = new Set(closed);
    if (isOpen ?? closed.has(key)) next.delete(key);
    else next.add(key);
    setClosed(next);
  };
  const press = (event: KeyboardEvent) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 15,
      PageUp: -15,
      Home: -entries.length,
      End: entries.length,
    };
    const step = steps[event.key];
    if (step !== undefined) {
      const next = Math.max(0, Math.min(entries.length - 1, focused + step));
      setActive(next);
      virtualizer.scrollToIndex(next);
    } else if (event.key === "Enter" || event.key === " ") open(entries[focused]);
    else if (event.key === "ArrowRight" && !entries[focused].isTable) open(entries[focused], true);
    else if (event.key === "ArrowLeft" && !entries[focused].isTable) open(entries[focused], false);
    else return;
    event.preventDefault();
  };
  if (tables.length === 0) {
    return <p class="quiet padded">There are no tables here yet.</p>;
  }
  if (entries.length === 0) return <p class="quiet padded">No table has this name.</p>;
  return (
    <>
      <div
        class="tree"
        role="tree"
        aria-label="Tables"
        tabIndex={0}
        ref={box}
        onKeyDown={press}
        aria-activedescendant={`entry-${focused}`}
      >
        <div style={{ height: `${totalSize}px`, position: "relative" }} role="presentation">
          {items.map(({ index, start }) => {
            const entry = entries[index];
            const { path, depth, isTable, count } = entry;
            const key = JSON.stringify(path);
            const name = path.at(-1) ?? "";
            const isClosed = search === "" && closed.has(key);
            return (
              <div
                key={`${isTable ? "t" : "n"}${key}`}
                id={`entry-${index}`}
                role="treeitem"
                aria-level={depth + 1}
                aria-selected={isTable && key === chosenKey}
                {...(isTable ? {} : { "aria-expanded": !isClosed })}
                class={`entry${index === focused ? " active" : ""}${isTable ? "" : " namespace"}`}
                style={{ transform: `translateY(${start}px)`, paddingInlineStart: `${10 + depth * 16}px` }}
                onClick={() => {
                  setActive(index);
                  open(entry);
                }}
                title={path.map(visibleText).join(" / ")}
              >
                <span aria-hidden="true" class="mark">
                  {isTable ? "▦" : isClosed ? "▸" : "▾"}
                </span>
                <bdi class="name">{visibleText(name)}</bdi>
                {!isTable && <span class="count">{formatCount(count)}</span>}
              </div>
            );
          })}
        </div>
      </div>
      {isCut && <p class="quiet padded">Only the first {formatCount(MAX_TABLES)} tables are listed.</p>}
    </>
  );
}
