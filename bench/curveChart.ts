/** Draws curves of times over another figure as SVG. */

export interface CurvePoint {
  readonly x: number;
  readonly milliseconds: number;
  /** Shown when the pointer is over the point. */
  readonly label: string;
}

export interface Curve {
  readonly name: string;
  readonly side: "tiltyard" | "reference";
  readonly points: readonly CurvePoint[];
}

/** The horizontal axis. */
export interface Axis {
  /** Position of a figure, from 0 at the left to 1 at the right. */
  position(x: number): number;
  readonly ticks: readonly { readonly x: number; readonly label: string }[];
}

/** From the least part that was found, in whole tenths, to all. */
export function recallAxis(curves: readonly Curve[]): Axis {
  const least = Math.floor(Math.min(...curves.flatMap(({ points }) => points.map(({ x }) => x))) * 10);
  const ticks = Array.from({ length: 11 - least }, (_, index) => ({
    x: (least + index) / 10,
    label: `${(least + index) * 10} %`,
  }));
  return { position: (x) => (x * 10 - least) / Math.max(1, 10 - least), ticks };
}

/** Distance of two labels below which they would overlap, as a part of the axis. */
const LEAST_TICK_PART = 0.08;

/** A logarithmic scale over the sizes of all points. Of sizes that nearly coincide, it names the largest. */
export function sizeAxis(curves: readonly Curve[]): Axis {
  const sizes = [...new Set(curves.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const [least, most] = [Math.log(sizes[0]), Math.log(sizes[sizes.length - 1])];
  return {
    position: (x) => (Math.log(x) - least) / (most - least || 1),
    ticks: sizes
      .filter((x, index) => {
        const next = sizes[index + 1];
        return next === undefined || Math.log(next) - Math.log(x) >= (most - least) * LEAST_TICK_PART;
      })
      .map((x) => ({ x, label: x.toLocaleString("en") })),
  };
}

const [WIDTH, LEFT, RIGHT, FIRST_NAMES, BOTTOM] = [880, 76, 40, 66, 48];
/** Height of the curves' own space. */
const CURVES_HEIGHT = 380;
const NAMES_PER_LINE = 3;
const COLOURS = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"];

/** Times on a logarithmic scale, from 1, 2 or 5 times a power of ten to another. */
function timeTicks(least: number, most: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(least)) - 1; power <= Math.ceil(Math.log10(most)); power++) {
    for (const factor of [1, 2, 5]) ticks.push(factor * 10 ** power);
  }
  const first = ticks.findLastIndex((tick) => tick <= least);
  const last = ticks.findIndex((tick) => tick >= most);
  return ticks.slice(Math.max(0, first), last < 0 ? undefined : last + 1);
}

/** Curves of one name have one colour; those of the reference are dashed. */
export function renderCurves(title: string, note: string, axis: Axis, curves: readonly Curve[]): string {
  const times = curves.flatMap(({ points }) => points.map(({ milliseconds }) => milliseconds));
  const ticks = timeTicks(Math.min(...times), Math.max(...times));
  const [bottom, top] = [ticks[0], ticks[ticks.length - 1]].map(Math.log10);
  const names = [...new Set(curves.map(({ name }) => name))];
  const curvesTop = FIRST_NAMES + 8 + 18 * Math.ceil(names.length / NAMES_PER_LINE);
  const height = curvesTop + CURVES_HEIGHT + BOTTOM;
  const x = (value: number): string => (LEFT + (WIDTH - LEFT - RIGHT) * axis.position(value)).toFixed(1);
  const y = (milliseconds: number): string =>
    (height - BOTTOM - (CURVES_HEIGHT * (Math.log10(milliseconds) - bottom)) / (top - bottom || 1)).toFixed(
      1,
    );
  const body: string[] = [];
  for (const tick of ticks) {
    body.push(
      `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(tick)}" y2="${y(tick)}"/>`,
      `<text class="note" x="${LEFT - 8}" y="${Number(y(tick)) + 4}" text-anchor="end">${Number(tick.toPrecision(1))} ms</text>`,
    );
  }
  for (const { x: value, label } of axis.ticks) {
    body.push(
      `<line class="grid" x1="${x(value)}" x2="${x(value)}" y1="${curvesTop}" y2="${height - BOTTOM}"/>`,
      `<text class="note" x="${x(value)}" y="${height - BOTTOM + 18}" text-anchor="middle">${label}</text>`,
    );
  }
  for (const [index, name] of names.entries()) {
    const left = LEFT + (index % NAMES_PER_LINE) * 265;
    const line = FIRST_NAMES + 18 * Math.floor(index / NAMES_PER_LINE);
    body.push(
      `<line class="${COLOURS[index % COLOURS.length]}" x1="${left}" x2="${left + 24}" y1="${line}" y2="${line}"/>`,
      `<text x="${left + 30}" y="${line + 4}">${name}</text>`,
    );
  }
  for (const { name, side, points } of curves) {
    const colour = COLOURS[names.indexOf(name) % COLOURS.length];
    const path = points.map((point) => `${x(point.x)},${y(point.milliseconds)}`).join(" ");
    body.push(`<polyline class="${colour}${side === "reference" ? " dashed" : ""}" points="${path}"/>`);
    for (const point of points) {
      body.push(
        `<circle class="${colour}" cx="${x(point.x)}" cy="${y(point.milliseconds)}" r="3"><title>${name}, ${side}, ${point.label}</title></circle>`,
      );
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>${title}</title>
<style>
${STYLE}
</style>
<rect class="paper" width="100%" height="100%"/>
<text class="title" x="16" y="24">${title}</text>
<text class="note" x="16" y="44">${note}</text>
${body.join("\n")}
</svg>
`;
}

const STYLE = `  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .note { fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .paper { fill: #ffffff }
  polyline { fill: none; stroke-width: 2 }
  circle { fill: #ffffff; stroke-width: 2 }
  line { stroke-width: 2 }
  .dashed { stroke-dasharray: 5 4 }
  .c0 { stroke: #1a7f64 } .c1 { stroke: #b0762c } .c2 { stroke: #a0408a } .c3 { stroke: #3b6fb6 } .c4 { stroke: #777777 }
  .c5 { stroke: #c0392b } .c6 { stroke: #6c8e1f } .c7 { stroke: #7d5fb2 } .c8 { stroke: #138aa5 } .c9 { stroke: #8b5e3c }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .paper, circle { fill: #0d1117 }
  }`;
