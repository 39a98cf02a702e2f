import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { TableIndex } from "../../../namespace/indexes.ts";
import type { StoredFragment, StoredIndex } from "../../../namespace/storage.ts";
import type { ViewProps } from "../App.tsx";
import { call } from "../calls.ts";
import { formatBytes, formatCount, formatMs, visibleText } from "../format.ts";
import { Bar, Busy, Empty, Failure } from "../parts.tsx";
import { useCall, withAllRows } from "../state.ts";

/** Indexes with the rows that they cover, and the recall of vector indexes against time. */
export function IndexesView({ choice, table, route, go }: ViewProps) {
  const asked = { ...choice };
  const storage = useCall((signal) => call("storage", asked, signal), [asked]);
  if (table.indexes.length === 0) {
    return (
      <Empty title="This version has no indexes">
        <p>
          Searches and filters read every row. <code>createIndex</code> builds an index.
        </p>
      </Empty>
    );
  }
  return (
    <div class="scroll padded">
      {storage.error !== null && <Failure error={storage.error} retry={storage.reload} />}
      {table.indexes.map((index) => (
        <IndexPanel
          key={index.indexName}
          index={index}
          choice={choice}
          show={(row) => go({ ...withAllRows(route), view: "rows", row })}
          storage={storage.value?.indexes.find(({ indexName }) => indexName === index.indexName) ?? null}
          fragments={storage.value?.fragments ?? []}
        />
      ))}
    </div>
  );
}

interface IndexPanelProps extends Pick<ViewProps, "choice"> {
  readonly index: TableIndex;
  readonly storage: StoredIndex | null;
  readonly fragments: readonly StoredFragment[];
  show(row: number): void;
}

function IndexPanel({ index, choice, storage, fragments, show }: IndexPanelProps) {
  const { indexName, indexType = "UNKNOWN", columns, numIndexedRows = 0, numUnindexedRows = 0 } = index;
  const { sizeBytes, numSegments = 1, createdAt, indexDetails } = index;
  const total = numIndexedRows + numUnindexedRows;
  return (
    <section class="panel" aria-label={`Index ${indexName}`}>
      <header>
        <h2>
          <bdi>{visibleText(indexName)}</bdi>
        </h2>
        <span class="chip">{indexType}</span>
        <span class="quiet">
          on <bdi>{columns.map(visibleText).join(", ")}</bdi>
        </span>
      </header>
      <p>
        {numUnindexedRows === 0 ? (
          <span class="good">Covers all {formatCount(total)} rows.</span>
        ) : (
          <>
            Covers {formatCount(numIndexedRows)} of {formatCount(total)} rows;{" "}
            <strong class="warn">{formatCount(numUnindexedRows)} rows are not covered</strong> and are read
            one by one. An optimize adds them.
          </>
        )}
      </p>
      <Bar part={total === 0 ? 1 : numIndexedRows / total} label={`Coverage of ${indexName}`} />
      {storage !== null && numUnindexedRows > 0 && <Uncovered {...{ storage, fragments, show }} />}
      <p class="quiet">
        {sizeBytes !== undefined && `${formatBytes(sizeBytes)} · `}
        {formatCount(numSegments)} segment{numSegments === 1 ? "" : "s"}
        {createdAt !== undefined && ` · built ${createdAt.replace("T", " ").replace(/\.\d+Z$/, " UTC")}`}
      </p>
      {indexDetails !== undefined && indexDetails !== "{}" && indexDetails !== "" && (
        <details>
          <summary>Settings</summary>
          <pre>{visibleText(indexDetails)}</pre>
        </details>
      )}
      {indexType.startsWith("IVF") && <Recall choice={choice} index={index} />}
    </section>
  );
}

const MAX_LISTED = 30;

/** Lists the fragments that no segment covers, with the range of their rows. */
function Uncovered({
  storage,
  fragments,
  show,
}: Pick<IndexPanelProps, "fragments" | "show"> & { readonly storage: StoredIndex }) {
  const covered = new Set(storage.fragmentIds ?? []);
  let firstRow = 0;
  const missing: { readonly id: number; readonly first: number; readonly rows: number }[] = [];
  for (const { id, rows, deletedRows } of fragments) {
    const liveRows = rows - deletedRows;
    if (!covered.has(id)) missing.push({ id, first: firstRow, rows: liveRows });
    firstRow += liveRows;
  }
  return (
    <details open>
      <summary>Rows that it does not cover</summary>
      <ul class="uncovered">
        {missing.slice(0, MAX_LISTED).map(({ id, first, rows }) => (
          <li key={id}>
            <button type="button" class="link" onClick={() => show(first)}>
              rows {formatCount(first)} to {formatCount(first + rows - 1)}
            </button>{" "}
            <span class="quiet">(fragment {id})</span>
          </li>
        ))}
        {missing.length > MAX_LISTED && (
          <li>and {formatCount(missing.length - MAX_LISTED)} more fragments</li>
        )}
      </ul>
    </details>
  );
}

interface Measured {
  readonly nprobes: number;
  readonly recall: number;
  readonly milliseconds: number;
}

const PROBES = [1, 2, 4, 8, 16, 32, 64, 128];
const QUERIES = 20;
const K = 10;

const median = (values: readonly number[]): number =>
  [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;

/** Measures how many of the true neighbours the index finds, by the number of probed partitions. */
function Recall({ choice, index }: { readonly choice: ViewProps["choice"]; readonly index: TableIndex }) {
  const [points, setPoints] = useState<readonly Measured[]>([]);
  const [exactMs, setExactMs] = useState<number | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const measure = async () => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setRunning(true);
    setError(null);
    setPoints([]);
    const asked = { ...choice, vectorColumn: index.columns[0], limit: K };
    try {
      const stats = await call(
        "vectors",
        { ...choice, vectorColumn: index.columns[0], limit: QUERIES },
        signal,
      );
      const rowIds = stats.rowIds.slice(0, QUERIES);
      const distance = distanceOf(index);
      const request = { ...asked, rowIds, ...(distance !== null && { distanceType: distance }) };
      const exact = await call("neighbours", { ...request, exact: true }, signal);
      setExactMs(median(exact.milliseconds));
      const measured: Measured[] = [];
      for (const nprobes of PROBES) {
        const answer = await call("neighbours", { ...request, nprobes }, signal);
        const recalls = answer.rowIds.map((ids, query) => {
          const truth = new Set(exact.rowIds[query]);
          return truth.size === 0 ? 1 : ids.filter((id) => truth.has(id)).length / truth.size;
        });
        const recall = recalls.reduce((sum, value) => sum + value, 0) / Math.max(1, recalls.length);
        measured.push({ nprobes, recall, milliseconds: median(answer.milliseconds) });
        setPoints([...measured]);
        if (recall === 1 && measured.at(-2)?.recall === 1) break;
      }
    } catch (reason) {
      if (!signal.aborted) setError(reason as Error);
    } finally {
      setRunning(false);
    }
  };
  return (
    <div class="recall">
      <button type="button" onClick={measure} disabled={isRunning}>
        Measure recall against time
      </button>
      {isRunning && <Busy label={`Searching for the neighbours of ${QUERIES} rows`} />}
      {error !== null && <Failure error={error} />}
      {points.length > 1 && <RecallChart points={points} />}
      {points.length > 0 && (
        <table class="plain narrow-table">
          <caption>
            Nearest {K} of {QUERIES} rows of this column
            {exactMs !== null && `; an exact search takes ${formatMs(exactMs)}`}
          </caption>
          <thead>
            <tr>
              <th scope="col" class="number">
                probes
              </th>
              <th scope="col" class="number">
                recall
              </th>
              <th scope="col" class="number">
                median time
              </th>
            </tr>
          </thead>
          <tbody>
            {points.map(({ nprobes, recall, milliseconds }) => (
              <tr key={nprobes}>
                <td class="number">{nprobes}</td>
                <td class="number">{(recall * 100).toFixed(1)} %</td>
                <td class="number">{formatMs(milliseconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

/** Distance of an index, which its settings name. */
function distanceOf({ indexDetails = "" }: TableIndex): string | null {
  return /"(?:distance_?type|metric_?type)"\s*:\s*"(\w+)"/i.exec(indexDetails)?.[1]?.toLowerCase() ?? null;
}

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function RecallChart({ points }: { readonly points: readonly Measured[] }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const sorted = [...points].sort((left, right) => left.milliseconds - right.milliseconds);
    const axis = {
      stroke: colour("--quiet"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line") },
    };
    const options: uPlot.Options = {
      width: Math.min(560, element.clientWidth),
      height: 230,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false }, y: { range: (_, low) => [Math.min(low, 0.9) - 0.02, 1.02] } },
      axes: [
        { ...axis, label: "median time in ms" },
        {
          ...axis,
          label: "recall",
          values: (_, values) => values.map((value) => `${Math.round(value * 100)} %`),
        },
      ],
      series: [
        {},
        { stroke: colour("--accent"), width: 2, points: { show: true, size: 7, fill: colour("--accent") } },
      ],
    };
    const data: uPlot.AlignedData = [
      sorted.map(({ milliseconds }) => milliseconds),
      sorted.map(({ recall }) => recall),
    ];
    const plot = new uPlot(options, data, element);
    return () => plot.destroy();
  }, [points]);
  return (
    <div
      ref={box}
      class="chart"
      role="img"
      aria-label="Recall against time; the table below has the numbers"
    />
  );
}
