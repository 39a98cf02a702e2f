/** Draws curves of recall and time as SVG. */

export interface CurvePoint {
  /** Part of the nearest rows that is found, 0 to 1. */
  readonly recall: number;
  readonly milliseconds: number;
  /** The setting that it was measured with. */
  readonly label: string;
}

export interface Curve {
  readonly name: string;
  readonly side: "tiltyard" | "reference";
  readonly points: readonly CurvePoint[];
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [860, 520, 64, 24, 92, 48];
const COLOURS = ["c0", "c1", "c2", "c3", "c4"];

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
export function renderCurves(title: string, curves: readonly Curve[]): string {
  const points = curves.flatMap((curve) => curve.points);
  const times = points.map(({ milliseconds }) => milliseconds);
  const ticks = timeTicks(Math.min(...times), Math.max(...times));
  const [bottom, top] = [ticks[0], ticks[ticks.length - 1]].map(Math.log10);
  const leastRecall = Math.floor(Math.min(...points.map(({ recall }) => recall)) * 10) / 10;
  const x = (recall: number): string =>
    (LEFT + ((WIDTH - LEFT - RIGHT) * (recall - leastRecall)) / Math.max(0.1, 1 - leastRecall)).toFixed(1);
  const y = (milliseconds: number): string =>
    (
      HEIGHT -
      BOTTOM -
      ((HEIGHT - TOP - BOTTOM) * (Math.log10(milliseconds) - bottom)) / (top - bottom || 1)
    ).toFixed(1);
  const names = [...new Set(curves.map(({ name }) => name))];
  const body: string[] = [];
  for (const tick of ticks) {
    body.push(
      `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(tick)}" y2="${y(tick)}"/>`,
      `<text class="note" x="${LEFT - 8}" y="${Number(y(tick)) + 4}" text-anchor="end">${Number(tick.toPrecision(1))} ms</text>`,
    );
  }
  for (let tenth = Math.round(leastRecall * 10); tenth <= 10; tenth++) {
    const tickX = x(tenth / 10);
    body.push(
      `<line class="grid" x1="${tickX}" x2="${tickX}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>`,
      `<text class="note" x="${tickX}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${tenth * 10} %</text>`,
    );
  }
  for (const [index, name] of names.entries()) {
    const left = LEFT + index * 190;
    body.push(
      `<line class="${COLOURS[index % COLOURS.length]}" x1="${left}" x2="${left + 24}" y1="66" y2="66"/>`,
      `<text x="${left + 30}" y="70">${name}</text>`,
    );
  }
  for (const { name, side, points: curvePoints } of curves) {
    const colour = COLOURS[names.indexOf(name) % COLOURS.length];
    const path = curvePoints.map(({ recall, milliseconds }) => `${x(recall)},${y(milliseconds)}`).join(" ");
    body.push(`<polyline class="${colour}${side === "reference" ? " dashed" : ""}" points="${path}"/>`);
    for (const { recall, milliseconds, label } of curvePoints) {
      const told = `${name}, ${side}, ${label}: ${(100 * recall).toFixed(1)} % in ${milliseconds.toFixed(2)} ms`;
      body.push(
        `<circle class="${colour}" cx="${x(recall)}" cy="${y(milliseconds)}" r="3"><title>${told}</title></circle>`,
      );
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">
<title>${title}</title>
<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .note { fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .paper { fill: #ffffff }
  polyline { fill: none; stroke-width: 2 }
  line { stroke-width: 2 }
  .dashed { stroke-dasharray: 5 4 }
  .c0 { stroke: #1a7f64 } .c1 { stroke: #b0762c } .c2 { stroke: #a0408a } .c3 { stroke: #3b6fb6 } .c4 { stroke: #777777 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .paper { fill: #0d1117 }
  }
</style>
<rect class="paper" width="100%" height="100%"/>
<text class="title" x="16" y="24">${title}</text>
<text class="note" x="16" y="44">Right and below is better. Dashed: the reference, in an index that it built with the same parameters.</text>
${body.join("\n")}
</svg>
`;
}
