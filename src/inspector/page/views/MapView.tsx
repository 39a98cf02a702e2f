import { useEffect, useRef, useState } from "preact/hooks";
import type { CellPreview, VectorsAnswer } from "../../calls/answers.ts";
import type { ViewProps } from "../App.tsx";
import { call, connected } from "../calls.ts";
import { formatCount, isVectorField, visibleText } from "../format.ts";
import { textOfCell } from "../grid/Cell.tsx";
import { RowPanel } from "../grid/RowPanel.tsx";
import { Busy, Empty, Failure } from "../parts.tsx";
import type { Projection } from "../projection.worker.ts";
import { useCall } from "../state.ts";

const SAMPLE = 2000;
const PALETTE = [
  ...["#4269d0", "#d97706", "#d6336c", "#2b8a3e", "#7048e8", "#0c8599"],
  ...["#a0522d", "#5c940d", "#9c36b5", "#1098ad", "#868e96"],
];
const MAX_CLASSES = PALETTE.length - 1;

/** A sample of a vector column in two dimensions: by principal components at once, and by UMAP. */
export function MapView({ choice, table, route, go }: ViewProps) {
  const fields = table.description.schema?.fields ?? [];
  const vectors = fields.filter(isVectorField);
  const colourable = fields.filter(({ type }) => !/list|struct|map|binary/.test(type.type));
  const [column, setColumn] = useState(vectors[0]?.name ?? "");
  const [colour, setColour] = useState("");
  const [kind, setKind] = useState<Projection["kind"]>("pca");
  const [row, setRow] = useState<string | null>(null);
  const asked = { ...choice, vectorColumn: column, limit: SAMPLE, ...(colour !== "" && { colour }) };
  const sample = useCall(column === "" ? null : (signal) => call("vectors", asked, signal), [asked]);
  const { projections, progress, error } = useProjections(sample.value, kind === "umap");
  if (vectors.length === 0) {
    return (
      <Empty title="This table has no column of vectors">
        <p>A map needs a column of fixed-size lists of numbers.</p>
      </Empty>
    );
  }
  const points = projections[kind] ?? projections.pca;
  const problem = sample.error ?? error;
  return (
    <div class="with-drawer">
      <div class="column padded">
        <div class="toolbar flush">
          <label>
            Column{" "}
            <select
              aria-label="Column"
              value={column}
              onChange={(event) => setColumn(event.currentTarget.value)}
            >
              {vectors.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label>
            Colour{" "}
            <select
              aria-label="Colour"
              value={colour}
              onChange={(event) => setColour(event.currentTarget.value)}
            >
              <option value="">none</option>
              {colourable.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <fieldset class="switch">
            <legend class="hidden">Projection</legend>
            {(["pca", "umap"] as const).map((each) => (
              <label key={each}>
                <input
                  type="radio"
                  name="projection"
                  checked={kind === each}
                  onChange={() => setKind(each)}
                />
                {each.toUpperCase()}
              </label>
            ))}
          </fieldset>
          <output aria-live="polite" class="quiet">
            {sample.value !== null &&
              `${formatCount(sample.value.rowIds.length)} rows of ${formatCount(table.stats.numRows)}`}
            {kind === "umap" &&
              projections.umap === undefined &&
              progress !== null &&
              ` · UMAP ${Math.round(progress * 100)} %`}
          </output>
        </div>
        {problem !== null ? (
          <Failure error={problem} retry={sample.reload} />
        ) : sample.value === null || points === undefined ? (
          <Busy label="Reading vectors" />
        ) : sample.value.rowIds.length === 0 ? (
          <Empty title="No row has a vector" />
        ) : (
          <Scatter {...{ choice, points, sample: sample.value, fields }} open={setRow} />
        )}
      </div>
      {row !== null && (
        <RowPanel
          {...{ choice, fields }}
          rowId={row}
          title="Row of the map"
          close={() => setRow(null)}
          findLike={(like) => go({ ...route, view: "search", like })}
        />
      )}
    </div>
  );
}

type Projections = Readonly<Partial<Record<Projection["kind"], Float32Array>>>;

/** Runs the projections in a worker, so that the page stays usable. */
function useProjections(sample: VectorsAnswer | null, wantsUmap: boolean) {
  const [projections, setProjections] = useState<Projections>({});
  const [progress, setProgress] = useState<number | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const worker = useRef<Worker | null>(null);
  const started = useRef(false);
  useEffect(() => {
    setProjections({});
    setProgress(null);
    setError(null);
    started.current = false;
    if (sample === null) return undefined;
    const current = connected().startProjection();
    worker.current = current;
    current.onmessage = ({ data }: MessageEvent<Projection>) => {
      if (data.points !== null) setProjections((before) => ({ ...before, [data.kind]: data.points }));
      setProgress(data.progress);
    };
    current.onerror = () => setError(new Error("The projection failed in this browser."));
    current.postMessage({ kind: "pca", dimension: sample.dimension, values: sample.values });
    return () => current.terminate();
  }, [sample]);
  useEffect(() => {
    if (!wantsUmap || sample === null || started.current) return;
    started.current = true;
    setProgress(0);
    worker.current?.postMessage({ kind: "umap" });
  }, [wantsUmap, sample]);
  return { projections, progress, error };
}

/** Colours of the points, and the legend that explains them. */
function coloursOf(values: readonly CellPreview[]): {
  readonly of: (index: number) => string;
  readonly legend: readonly (readonly [string, string])[];
} {
  const numbers = values.filter((value): value is number => typeof value === "number");
  if (numbers.length > 0 && new Set(numbers).size > MAX_CLASSES) {
    const sorted = [...numbers].sort((left, right) => left - right);
    const [low, high] = [sorted[Math.floor(sorted.length * 0.02)], sorted[Math.floor(sorted.length * 0.98)]];
    const shade = (value: number): string =>
      `hsl(${250 - 220 * Math.max(0, Math.min(1, (value - low) / (high - low || 1)))} 70% 50%)`;
    return {
      of: (index) => (typeof values[index] === "number" ? shade(values[index]) : "#999999"),
      legend: [0, 0.5, 1].map((part) => [
        shade(low + (high - low) * part),
        String(Number((low + (high - low) * part).toPrecision(4))),
      ]),
    };
  }
  const counts = new Map<string, number>();
  for (const value of values) counts.set(textOfCell(value), (counts.get(textOfCell(value)) ?? 0) + 1);
  const classes = [...counts].sort(([, left], [, right]) => right - left).slice(0, MAX_CLASSES);
  const byText = new Map(classes.map(([text], index) => [text, PALETTE[index]]));
  const isAll = counts.size === 1 && values.every((value) => value === null);
  const rest = counts.size > classes.length;
  return {
    of: (index) => byText.get(textOfCell(values[index])) ?? PALETTE[MAX_CLASSES],
    legend: isAll
      ? []
      : [
          ...classes.map(([text], index) => [PALETTE[index], text] as const),
          ...(rest ? [[PALETTE[MAX_CLASSES], "other"] as const] : []),
        ],
  };
}

interface ScatterProps extends Pick<ViewProps, "choice"> {
  readonly points: Float32Array;
  readonly sample: VectorsAnswer;
  readonly fields: readonly { readonly name: string; readonly type: { readonly type: string } }[];
  open(rowId: string): void;
}

const MARGIN = 16;

function Scatter({ choice, points, sample, fields, open }: ScatterProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState<readonly [number, number]>([600, 400]);
  const [active, setActive] = useState<number | null>(null);
  const { of, legend } = coloursOf(sample.colours);
  const [places, setPlaces] = useState<Float32Array>(new Float32Array(0));
  useEffect(() => {
    const element = canvas.current?.parentElement;
    if (element === null || element === undefined) return undefined;
    const observer = new ResizeObserver(() => setSize([element.clientWidth, element.clientHeight]));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => setPlaces(placesOf(points, size)), [points, size]);
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, size, places, of, active);
  }, [places, active, sample, size]);
  const nearest = (event: MouseEvent): number | null => {
    let best: number | null = null;
    let bestDistance = 144;
    for (let index = 0; index * 2 < places.length; index++) {
      const distance =
        (places[index * 2] - event.offsetX) ** 2 + (places[index * 2 + 1] - event.offsetY) ** 2;
      if (distance < bestDistance) [best, bestDistance] = [index, distance];
    }
    return best;
  };
  const press = (event: KeyboardEvent) => {
    const count = sample.rowIds.length;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setActive(((active ?? -step) + step + count) % count);
    else if (event.key === "Enter" && active !== null) open(sample.rowIds[active]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div class="scatter">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          aria-label={`Map of ${formatCount(sample.rowIds.length)} vectors of ${formatCount(sample.dimension)} dimensions. Arrow keys go from row to row, Enter opens one.`}
          onMouseMove={(event) => setActive(nearest(event))}
          onMouseLeave={() => setActive(null)}
          onClick={(event) => {
            const index = nearest(event);
            if (index !== null) open(sample.rowIds[index]);
          }}
          onKeyDown={press}
        />
        {active !== null && places.length > active * 2 && (
          <Tip
            {...{ choice, fields }}
            rowId={sample.rowIds[active]}
            left={places[active * 2]}
            top={places[active * 2 + 1]}
            width={size[0]}
          />
        )}
      </div>
      {legend.length > 0 && (
        <ul class="legend" aria-label="Colours">
          {legend.map(([colour, text]) => (
            <li key={text}>
              <span style={{ background: colour }} />
              <bdi>{visibleText(text.slice(0, 60))}</bdi>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Scales points to the canvas, with the same unit in both directions. */
function placesOf(points: Float32Array, [width, height]: readonly [number, number]): Float32Array {
  let [left, right, top, bottom] = [
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ];
  for (let index = 0; index < points.length; index += 2) {
    left = Math.min(left, points[index]);
    right = Math.max(right, points[index]);
    top = Math.min(top, points[index + 1]);
    bottom = Math.max(bottom, points[index + 1]);
  }
  const scale = Math.min(
    (width - 2 * MARGIN) / (right - left || 1),
    (height - 2 * MARGIN) / (bottom - top || 1),
  );
  return points.map((value, index) =>
    index % 2 === 0
      ? width / 2 + (value - (left + right) / 2) * scale
      : height / 2 + (value - (top + bottom) / 2) * scale,
  );
}

function draw(
  canvas: HTMLCanvasElement,
  [width, height]: readonly [number, number],
  places: Float32Array,
  colourOf: (index: number) => string,
  active: number | null,
): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(ratio, ratio);
  context.globalAlpha = 0.75;
  for (let index = 0; index * 2 < places.length; index++) {
    context.fillStyle = colourOf(index);
    context.beginPath();
    context.arc(places[index * 2], places[index * 2 + 1], 3, 0, Math.PI * 2);
    context.fill();
  }
  if (active === null || active * 2 >= places.length) return;
  context.globalAlpha = 1;
  context.strokeStyle = getComputedStyle(canvas).color;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(places[active * 2], places[active * 2 + 1], 6, 0, Math.PI * 2);
  context.stroke();
}

interface TipProps extends Pick<ScatterProps, "choice" | "fields"> {
  readonly rowId: string;
  readonly left: number;
  readonly top: number;
  readonly width: number;
}

/** The row under the pointer. */
function Tip({ choice, fields, rowId, left, top, width }: TipProps) {
  const columns = fields
    .filter(({ type }) => !/list|binary/.test(type.type))
    .slice(0, 6)
    .map(({ name }) => name);
  const loaded = useCall(
    (signal) => call("rows", { ...choice, columns, rowIds: [rowId] }, signal),
    [choice, rowId],
  );
  const isRight = left > width / 2;
  return (
    <div
      class="tip"
      role="status"
      style={{
        top: `${top + 10}px`,
        ...(isRight ? { right: `${width - left + 10}px` } : { left: `${left + 10}px` }),
      }}
    >
      <strong>row id {rowId}</strong>
      {loaded.value?.rows[0]?.map((cell, index) => (
        <div key={columns[index]}>
          <span class="quiet">{visibleText(columns[index])}</span>{" "}
          <bdi>{visibleText(textOfCell(cell).slice(0, 80))}</bdi>
        </div>
      ))}
    </div>
  );
}
