import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TableIndex } from "../../../namespace/indexes.ts";
import type { DescribeTableStorageResponse, StoredFragment } from "../../../namespace/storage.ts";
import type { ViewProps } from "../App.tsx";
import { call } from "../calls.ts";
import { formatBytes, formatCount, visibleText } from "../format.ts";
import { Bar, Empty, Result } from "../parts.tsx";
import { useCall } from "../state.ts";

/** Rectangles of a level. The rest is drawn as one. */
const MAX_PARTS = 120;
/** Fragments with fewer rows count as small, as in the statistics of the table. */
const SMALL_ROWS = 100_000;

type Group = "column" | "fragment";

/** Names a column of a file, whose pages are read when somebody opens it. */
interface PagesOf {
  readonly path: string;
  readonly column: string;
}

/** A part of the table and its bytes. */
interface Part {
  readonly name: string;
  readonly bytes: number;
  readonly note: string;
  readonly parts: readonly Part[];
  readonly pagesOf?: PagesOf;
}

/** Bytes of a version by column, fragment and page, as a treemap and as a table. */
export function StorageView({ choice, table }: ViewProps) {
  const asked = { ...choice };
  const loaded = useCall((signal) => call("storage", asked, signal), [asked]);
  return (
    <Result of={loaded}>
      {(storage) => <Storage {...{ storage, choice }} indexes={table.indexes} key={storage.version} />}
    </Result>
  );
}

interface StorageProps extends Pick<ViewProps, "choice"> {
  readonly storage: DescribeTableStorageResponse;
  readonly indexes: readonly TableIndex[];
}

function Storage({ storage, choice, indexes }: StorageProps) {
  const [group, setGroup] = useState<Group>("column");
  const [path, setPath] = useState<readonly string[]>([]);
  const root = useMemo(() => rootOf(storage, indexes, group), [storage, group]);
  const shown = path.reduce<Part>(
    (part, name) => part.parts.find((each) => each.name === name) ?? part,
    root,
  );
  const { pagesOf } = shown;
  const pages = useCall(
    pagesOf === undefined ? null : (signal) => call("file", { ...choice, path: pagesOf.path }, signal),
    [choice, pagesOf],
  );
  const open = (part: Part) => {
    if (canOpen(part)) setPath([...path, part.name]);
  };
  if (root.bytes === 0) return <Empty title="This version has no files" />;
  return (
    <div class="scroll padded storage">
      <Gain fragments={storage.fragments} choice={choice} />
      <div class="toolbar flush">
        <nav aria-label="Part of the table">
          <button type="button" class="link" onClick={() => setPath([])}>
            All {formatBytes(root.bytes)}
          </button>
          {path.map((name, index) => (
            <span key={name}>
              {" "}
              ›{" "}
              <button type="button" class="link" onClick={() => setPath(path.slice(0, index + 1))}>
                <bdi>{visibleText(name)}</bdi>
              </button>
            </span>
          ))}
        </nav>
        <fieldset class="switch">
          <legend class="hidden">Group by</legend>
          {(["column", "fragment"] as const).map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="group"
                checked={group === each}
                onChange={() => {
                  setGroup(each);
                  setPath([]);
                }}
              />
              by {each}
            </label>
          ))}
        </fieldset>
      </div>
      {pagesOf === undefined ? (
        <Level part={shown} open={open} />
      ) : (
        <Result of={pages}>
          {({ columns }) => {
            const column = columns.find(({ name }) => name === pagesOf.column);
            const parts = (column?.pages ?? []).map((page, index) => ({
              name: `page ${index}`,
              bytes: page.bytes,
              note: `${formatCount(page.rows)} rows from ${formatCount(page.firstRow)} · ${page.encoding}`,
              parts: [],
            }));
            return <Level part={{ ...shown, parts }} open={open} />;
          }}
        </Result>
      )}
    </div>
  );
}

const Level = (props: { readonly part: Part; open(part: Part): void }) => (
  <>
    <Treemap {...props} />
    <PartTable {...props} />
  </>
);

const canOpen = ({ parts, pagesOf }: Part): boolean => parts.length > 0 || pagesOf !== undefined;

/** A column in a file of a fragment. */
interface Entry extends Part {
  readonly column: string;
  readonly fragment: string;
}

function entriesOf({ fragments }: DescribeTableStorageResponse): Entry[] {
  const entries: Entry[] = [];
  for (const { id, files, deletionBytes } of fragments) {
    const fragment = `fragment ${id}`;
    for (const file of files) {
      let counted = 0;
      for (const { name, bytes, encodings } of file.columns) {
        counted += bytes;
        const pagesOf = { path: file.path, column: name };
        entries.push({
          column: topLevel(name),
          fragment,
          name,
          bytes,
          note: encodings.join(" · "),
          parts: [],
          pagesOf,
        });
      }
      const note = "metadata, blobs and padding of the files";
      const bytes = file.bytes - counted;
      if (bytes > 0)
        entries.push({ column: "other bytes", fragment, name: "other bytes", bytes, note, parts: [] });
    }
    const note = "list of deleted rows";
    if (deletionBytes > 0) {
      entries.push({
        column: "deletions",
        fragment,
        name: "deletions",
        bytes: deletionBytes,
        note,
        parts: [],
      });
    }
  }
  return entries;
}

function rootOf(storage: DescribeTableStorageResponse, indexes: readonly TableIndex[], group: Group): Part {
  const groups = new Map<string, Entry[]>();
  for (const entry of entriesOf(storage)) {
    const key = entry[group];
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [entry]);
    else members.push(entry);
  }
  const parts = [...groups].map(([name, members]): Part => {
    const inner = members.map((entry) => ({
      ...entry,
      name:
        group === "column" ? `${entry.fragment}${entry.name === name ? "" : ` · ${entry.name}`}` : entry.name,
    }));
    const notes = [...new Set(members.map(({ note }) => note).filter(Boolean))];
    const note = notes.slice(0, 3).join(" · ") + (notes.length > 3 ? " · …" : "");
    return { name, bytes: sumOf(inner), note, parts: sorted(inner) };
  });
  const indexParts = storage.indexes.map(({ indexName, bytes, files }) => {
    const index = indexes.find((each) => each.indexName === indexName);
    return {
      name: `index ${indexName}`,
      bytes,
      note: `${index?.indexType ?? ""} on ${index?.columns.join(", ") ?? ""}`,
      parts: sorted(files.map((file) => ({ name: file.path, bytes: file.bytes, note: "", parts: [] }))),
    };
  });
  const all = sorted([...parts, ...indexParts]);
  return { name: "", bytes: sumOf(all), note: "", parts: all };
}

/** Name of the top-level column of a path. */
const topLevel = (path: string): string => /^(?:`(?:[^`]|``)+`|[^.]+)/.exec(path)?.[0] ?? path;
const sumOf = (parts: readonly Part[]): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);
const sorted = (parts: readonly Part[]): Part[] => [...parts].sort((left, right) => right.bytes - left.bytes);

/** The largest parts, and one for all others. */
function largest({ parts }: Part): Part[] {
  if (parts.length <= MAX_PARTS) return [...parts];
  const rest = parts.slice(MAX_PARTS);
  const name = `${formatCount(rest.length)} smaller parts`;
  return [...parts.slice(0, MAX_PARTS), { name, bytes: sumOf(rest), note: "", parts: [] }];
}

const HEIGHT = 320;
/** Size in pixels from which a tile has a text. */
const TEXT_WIDTH = 54;
const TEXT_HEIGHT = 22;

/** A node of the treemap: the level itself, or one of its parts. */
interface Node {
  readonly part: Part;
  readonly children?: readonly Node[];
}

function Treemap({ part, open }: { readonly part: Part; open(part: Part): void }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const tiles = useMemo(() => {
    const root: Node = { part, children: largest(part).map((each) => ({ part: each })) };
    const tree = hierarchy<Node>(root, (node) => node.children)
      .sum((node) => (node.children === undefined ? node.part.bytes : 0))
      .sort((left, right) => (right.value ?? 0) - (left.value ?? 0));
    return treemap<Node>().tile(treemapSquarify).size([width, HEIGHT]).padding(2).round(true)(tree).leaves();
  }, [part, width]);
  return (
    <div
      class="treemap"
      ref={box}
      style={{ height: `${HEIGHT}px` }}
      role="group"
      aria-label="Sizes as areas; the table below has the numbers"
    >
      {tiles.map(({ data: { part: tile }, x0, x1, y0, y1 }, index) => {
        const [tileWidth, tileHeight] = [x1 - x0, y1 - y0];
        const text = `${visibleText(tile.name)}: ${formatBytes(tile.bytes)}`;
        const isSmall = tileWidth < TEXT_WIDTH || tileHeight < TEXT_HEIGHT;
        return (
          <button
            type="button"
            key={tile.name}
            class={`tile shade-${index % 6}${isSmall ? " small" : ""}`}
            style={{ left: `${x0}px`, top: `${y0}px`, width: `${tileWidth}px`, height: `${tileHeight}px` }}
            title={`${text}${tile.note === "" ? "" : `\n${tile.note}`}`}
            {...(isSmall ? { "aria-label": text } : {})}
            disabled={!canOpen(tile)}
            onClick={() => open(tile)}
          >
            {!isSmall && <bdi>{visibleText(tile.name)}</bdi>}
            {!isSmall && <span class={tileHeight > 40 ? "" : "hidden"}>{formatBytes(tile.bytes)}</span>}
          </button>
        );
      })}
    </div>
  );
}

const PartTable = ({ part, open }: { readonly part: Part; open(part: Part): void }) => (
  <table class="plain">
    <caption class="hidden">Sizes of the parts</caption>
    <thead>
      <tr>
        <th scope="col">Part</th>
        <th scope="col" class="number">
          Size
        </th>
        <th scope="col">Share</th>
        <th scope="col">Encodings</th>
      </tr>
    </thead>
    <tbody>
      {largest(part).map((each) => (
        <tr key={each.name}>
          <th scope="row">
            {canOpen(each) ? (
              <button type="button" class="link" onClick={() => open(each)}>
                <bdi>{visibleText(each.name)}</bdi>
              </button>
            ) : (
              <bdi>{visibleText(each.name)}</bdi>
            )}
          </th>
          <td class="number">{formatBytes(each.bytes)}</td>
          <td class="share-cell">
            <Bar
              part={part.bytes === 0 ? 0 : each.bytes / part.bytes}
              label={`Share of ${visibleText(each.name)}`}
            />
          </td>
          <td class="quiet">{each.note}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

/** Says what a compaction would gain: fewer fragments, and the bytes of deleted rows. */
function Gain({
  fragments,
  choice,
}: Pick<StorageProps, "choice"> & { readonly fragments: readonly StoredFragment[] }) {
  const { id, branch } = choice;
  const asked = { id, ...(branch !== undefined && { branch }) };
  const plan = useCall((signal) => call("gain", asked, signal), [asked]);
  const rows = fragments.reduce((sum, each) => sum + each.rows, 0);
  const deleted = fragments.reduce((sum, { deletedRows }) => sum + deletedRows, 0);
  const small = fragments.filter((each) => each.rows < SMALL_ROWS).length;
  const reclaimed = fragments.reduce((sum, each) => {
    const bytes = each.files.reduce((total, file) => total + file.bytes, each.deletionBytes);
    return sum + (each.rows === 0 ? 0 : (bytes * each.deletedRows) / each.rows);
  }, 0);
  const removed = plan.value?.fragmentsRemoved ?? 0;
  return (
    <dl class="cards">
      <Card name="Fragments" value={formatCount(fragments.length)} note={`${formatCount(small)} small`} />
      <Card
        name="Deleted rows in files"
        value={formatCount(deleted)}
        note={`${rows === 0 ? 0 : ((deleted / rows) * 100).toFixed(1)} % of ${formatCount(rows)}`}
      />
      <Card
        name="A compaction would gain"
        value={
          plan.value !== null && removed === 0 ? "nothing" : `up to ${formatBytes(Math.round(reclaimed))}`
        }
        note={
          plan.value === null
            ? (plan.error?.message ?? "…")
            : removed === 0
              ? "no fragments can be merged"
              : `${formatCount(removed)} fragment${removed === 1 ? " becomes" : "s become"} ${formatCount(plan.value.fragmentsAdded)}`
        }
      />
    </dl>
  );
}

const Card = ({
  name,
  value,
  note,
}: {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}) => (
  <div class="card">
    <dt>{name}</dt>
    <dd>
      <strong>{value}</strong>
      <span class="quiet">{note}</span>
    </dd>
  </div>
);
