/** From samples to figures, and figures to text: terminal table, Markdown table, SVG charts. */

import { AREAS, type Area, type CaseSamples, type SideName } from "./case.js";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly platform: string;
  readonly node: string;
  readonly tiltyard: string;
  readonly reference: string;
  /** Commit of the checkout, with "+" where files differ from it; null outside of one. */
  readonly commit: string | null;
  /** ISO 8601. */
  readonly date: string;
}

export interface SideFigures {
  readonly side: SideName;
  readonly runs: number;
  /** Milliseconds. */
  readonly median: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
  /** Median of the processor's time in user mode, of all threads of the case's process; milliseconds. */
  readonly cpu: number;
  /** 99th percentile of single calls in milliseconds, if a run makes many calls at once. */
  readonly callP99?: number;
  /** Units of work a second, at the median. */
  readonly rate: number;
  /** Megabytes (10^6) of Arrow data a second, at the median. */
  readonly megabytesPerSecond?: number;
  /** Bytes of the data files that the side wrote. */
  readonly fileBytes?: number;
  /**
   * Reference ÷ this side, of medians: above 1 this side is faster. Where a case compares with the plain
   * form, that one is the reference. Absent where there is none.
   */
  readonly ratio?: number;
  /** Ratio of the CPU times. */
  readonly cpuRatio?: number;
}

export interface CaseFigures {
  readonly area: Area;
  readonly name: string;
  readonly unit: CaseSamples["work"]["unit"];
  readonly sides: readonly SideFigures[];
}

export interface Report {
  readonly machine: Machine;
  readonly small: boolean;
  readonly cases: readonly CaseFigures[];
}

const SIDE_ORDER: readonly SideName[] = [
  "tiltyard",
  "tiltyard, warm",
  "tiltyard, fsync",
  "tiltyard, plain",
  "reference",
];

function quantile(sorted: readonly number[], q: number): number {
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)];
  return below + (sorted[Math.ceil(position)] - below) * (position - Math.floor(position));
}

export function computeFigures(result: CaseSamples): CaseFigures {
  const isReference = (side: SideName) => side === "reference" || side === "tiltyard, plain";
  const reference = result.samples.find(({ side }) => isReference(side));
  const ratioTo = (values: readonly number[] | undefined, tiltyardValue: number) =>
    values === undefined || tiltyardValue === 0 ? undefined : medianOf(values) / tiltyardValue;
  const sides = result.samples.map((sample): SideFigures => {
    const { side, callMilliseconds, fileBytes } = sample;
    const sorted = ascending(sample.milliseconds);
    const median = quantile(sorted, 0.5);
    const cpu = medianOf(sample.cpuMilliseconds);
    const compared = isReference(side) ? undefined : reference;
    return {
      side,
      runs: sorted.length,
      median,
      p99: quantile(sorted, 0.99),
      min: sorted[0],
      max: sorted[sorted.length - 1],
      cpu,
      callP99: callMilliseconds && quantile(ascending(callMilliseconds), 0.99),
      rate: (result.work.amount / median) * 1000,
      megabytesPerSecond: result.bytes === undefined ? undefined : result.bytes / median / 1000,
      fileBytes,
      ratio: ratioTo(compared?.milliseconds, median),
      cpuRatio: ratioTo(compared?.cpuMilliseconds, cpu),
    };
  });
  sides.sort((a, b) => SIDE_ORDER.indexOf(a.side) - SIDE_ORDER.indexOf(b.side));
  return { area: result.area, name: result.name, unit: result.work.unit, sides };
}

const medianOf = (values: readonly number[]): number => quantile(ascending(values), 0.5);

function ascending(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

export function formatMilliseconds(milliseconds: number): string {
  if (milliseconds >= 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(2)} s`;
  if (milliseconds >= 100) return `${milliseconds.toFixed(0)} ms`;
  if (milliseconds >= 1) return `${milliseconds.toFixed(1)} ms`;
  return `${(milliseconds * 1000).toFixed(0)} µs`;
}

function formatRate(rate: number, unit: string): string {
  if (rate >= 1e6) return `${(rate / 1e6).toFixed(1)} M ${unit}/s`;
  if (rate >= 1e4) return `${(rate / 1e3).toFixed(0)} k ${unit}/s`;
  return `${rate.toFixed(0)} ${unit}/s`;
}

function formatBytesRate(megabytes: number | undefined): string {
  return megabytes === undefined ? "" : `${megabytes.toFixed(0)} MB/s`;
}

function formatRatio(ratio: number | undefined): string {
  return ratio === undefined ? "" : `${ratio.toFixed(ratio >= 10 ? 0 : 2)}×`;
}

export function formatMachine(machine: Machine): string {
  return (
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}; ` +
    `Node ${machine.node}; Tiltyard ${machine.tiltyard} (${machine.commit ?? "no checkout"}); ` +
    `reference @lancedb/lancedb ${machine.reference}; ${machine.date.slice(0, 10)}`
  );
}

function formatFileBytes(bytes: number | undefined): string {
  return bytes === undefined ? "" : `${(bytes / 1e6).toFixed(2)} MB`;
}

const COLUMNS = [
  "median",
  "p99",
  "rows or calls",
  "Arrow data",
  "reference ÷ it",
  "data files",
  "user CPU",
  "of the CPU",
];

/** Lines of one case for the terminal. */
export function formatCase(figures: CaseFigures): string {
  const lines = figures.sides.map((side) => {
    const cells = [
      formatMilliseconds(side.median),
      formatMilliseconds(side.callP99 ?? side.p99),
      formatRate(side.rate, figures.unit),
      formatBytesRate(side.megabytesPerSecond),
      formatRatio(side.ratio),
      formatFileBytes(side.fileBytes),
      formatMilliseconds(side.cpu),
      formatRatio(side.cpuRatio),
    ];
    return formatLine(`  ${side.side}`, cells);
  });
  return [figures.name, ...lines].join("\n");
}

export function formatHeader(): string {
  return formatLine("", COLUMNS);
}

function formatLine(label: string, cells: readonly string[]): string {
  const widths = [10, 10, 18, 12, 16, 12, 10, 12];
  return label.padEnd(20) + cells.map((cell, i) => cell.padStart(widths[i])).join("");
}

/** The table of docs/benchmarks.md: of all cases but those that compare the engine with itself. */
export function formatMarkdown(report: Report): string {
  const cases = report.cases.filter(({ area }) => area !== "ablation");
  const rows = cases.map((figures) => {
    const find = (name: SideName) => figures.sides.find(({ side }) => side === name);
    const time = (side: SideFigures | undefined) => {
      if (side === undefined) return "";
      const waits = side.callP99 === undefined ? "" : ` (p99 of waits: ${formatMilliseconds(side.callP99)})`;
      return formatMilliseconds(side.median) + waits;
    };
    const ours = find("tiltyard");
    const warm = find("tiltyard, warm");
    const note = warm === undefined ? "" : ` (known table: ${time(warm)})`;
    if (figures.area === "rest" && ours?.callP99 !== undefined) {
      const p99 = formatMilliseconds(ours.callP99);
      return `| ${figures.name} | ${formatRate(ours.rate, "requests")}, p99 ${p99} |  |  |  |  |`;
    }
    const size = (side: SideFigures | undefined) => formatFileBytes(side?.fileBytes);
    return (
      `| ${figures.name} | ${time(ours)}${note} | ${time(find("reference"))} | ` +
      `${formatRatio(ours?.ratio)} | ${size(ours)} | ${size(find("reference"))} |`
    );
  });
  return [
    "| case | Tiltyard | reference | reference ÷ Tiltyard | data files | of the reference |",
    "|---|--:|--:|--:|--:|--:|",
    ...rows,
    "",
    `Medians. ${formatMachine(report.machine)}.`,
  ].join("\n");
}

const FILLS: Record<SideName, string> = {
  tiltyard: "ours",
  "tiltyard, warm": "warm",
  "tiltyard, fsync": "synced",
  "tiltyard, plain": "reference",
  reference: "reference",
};

/** One chart: a group of bars per case, each as long as its median against the slowest of the group. */
export function renderChart(report: Report, area: Area): string {
  const cases = report.cases.filter((figures) => figures.area === area);
  const [width, left, barSpace, barHeight, right] = [860, 150, 20, 14, 190];
  const body: string[] = [];
  let y = 64;
  for (const figures of cases) {
    body.push(`<text class="case" x="16" y="${y}">${escapeXml(figures.name)}</text>`);
    y += 10;
    const slowest = Math.max(...figures.sides.map(({ median }) => median));
    for (const side of figures.sides) {
      const length = Math.max(1, ((width - left - right) * side.median) / slowest).toFixed(1);
      const ratio = side.ratio === undefined ? "" : `  (${formatRatio(side.ratio)})`;
      const baseline = y + barHeight - 3;
      body.push(
        `<text class="side" x="${left - 8}" y="${baseline}" text-anchor="end">${side.side}</text>`,
        `<rect class="${FILLS[side.side]}" x="${left}" y="${y}" width="${length}" height="${barHeight}" rx="2"/>`,
        `<text class="value" x="${(left + Number(length) + 6).toFixed(1)}" y="${baseline}">` +
          `${formatMilliseconds(side.median)}${ratio}</text>`,
      );
      y += barSpace;
    }
    y += 26;
  }
  const title = `${area}: median time, shorter is better (in brackets: reference ÷ it)`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 6}" width="${width}" height="${y + 6}" role="img">
<title>${title}</title>
<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .case { font-weight: 600 }
  .side, .note { fill: #59636e }
  .ours { fill: #1a7f64 } .warm { fill: #58b69c } .synced { fill: #7aa6c2 } .reference { fill: #b0762c }
  .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .side, .note { fill: #9198a1 }
    .ours { fill: #3fb950 } .warm { fill: #7ee2a8 } .synced { fill: #6cb6ff } .reference { fill: #e3a34f }
    .paper { fill: #0d1117 }
  }
</style>
<rect class="paper" width="100%" height="100%"/>
<text class="title" x="16" y="24">${title}</text>
<text class="note" x="16" y="42">${escapeXml(formatMachine(report.machine))}</text>
${body.join("\n")}
</svg>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The areas a report has cases of. */
export function areasOf(report: Report): Area[] {
  return AREAS.filter((area) => report.cases.some((figures) => figures.area === area));
}
