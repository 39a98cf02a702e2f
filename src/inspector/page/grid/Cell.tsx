import type { CellPreview } from "../../calls/answers.ts";
import type { ImageCell } from "../calls.ts";
import { formatBytes, formatCount, visibleText } from "../format.ts";
import { CellImage } from "./CellImage.tsx";

/** A small chart of the values of a vector. */
export function Sparkline({
  points,
  width = 96,
  height = 18,
}: {
  readonly points: readonly number[];
  readonly width?: number;
  readonly height?: number;
}) {
  const low = Math.min(...points);
  const high = Math.max(...points);
  const span = high - low || 1;
  const step = width / Math.max(1, points.length - 1);
  const path = points
    .map(
      (value, index) =>
        `${index === 0 ? "M" : "L"}${(index * step).toFixed(1)} ${(height - 1 - ((value - low) / span) * (height - 2)).toFixed(1)}`,
    )
    .join("");
  return (
    <svg
      class="sparkline"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}

/** Returns a cell as one line of text, for copying and for screen readers. */
export function textOfCell(cell: CellPreview): string {
  if (cell === null) return "null";
  if (typeof cell !== "object") return String(cell);
  switch (cell.kind) {
    case "text":
      return `${cell.text}…`;
    case "number":
      return cell.text;
    case "vector":
      return `vector of ${formatCount(cell.length)}: ${cell.points.slice(0, 4).join(", ")}…`;
    case "bytes":
      return `${cell.media ?? "binary"}, ${formatBytes(cell.size)}`;
    case "nested":
      return cell.text;
  }
}

interface CellProps {
  readonly cell: CellPreview;
  /** Names the value, for images. */
  readonly of?: ImageCell;
  /** Ranges of the text to mark. */
  readonly marks?: readonly { readonly start: number; readonly end: number }[];
}

/** Content of a cell. Everything in it is text or an image, whatever the table holds. */
export function Cell({ cell, of, marks }: CellProps) {
  if (cell === null) return <span class="null">null</span>;
  if (typeof cell === "boolean") return <span class={`boolean ${cell}`}>{String(cell)}</span>;
  if (typeof cell === "number") return <span>{String(cell)}</span>;
  if (typeof cell === "string") return <Text text={cell} marks={marks} />;
  switch (cell.kind) {
    case "text":
      return (
        <>
          <Text text={cell.text} marks={marks} />
          <span class="more">… {formatCount(cell.length)} characters</span>
        </>
      );
    case "number":
      return <span class="odd">{cell.text}</span>;
    case "vector":
      return (
        <span class="vector">
          <Sparkline points={cell.points} />
          <span class="more">{formatCount(cell.length)}</span>
        </span>
      );
    case "bytes":
      if (cell.media !== null && of !== undefined) {
        return <CellImage class="thumbnail" alt={`${cell.media}, ${formatBytes(cell.size)}`} of={of} />;
      }
      return (
        <span class="bytes">
          {formatBytes(cell.size)} <code>{cell.hex.slice(0, 16)}</code>
        </span>
      );
    case "nested":
      return <code class="nested">{visibleText(cell.text)}</code>;
  }
}

function Text({ text, marks = [] }: { readonly text: string; readonly marks?: CellProps["marks"] }) {
  if (text === "") return <span class="null">empty</span>;
  if (marks.length === 0) return <bdi>{visibleText(text)}</bdi>;
  const pieces: preact.JSX.Element[] = [];
  let position = 0;
  for (const { start, end } of [...marks].sort((left, right) => left.start - right.start)) {
    if (start < position || start >= text.length) continue;
    pieces.push(<span key={position}>{visibleText(text.slice(position, start))}</span>);
    pieces.push(<mark key={`m${start}`}>{visibleText(text.slice(start, end))}</mark>);
    position = end;
  }
  pieces.push(<span key={`e${position}`}>{visibleText(text.slice(position))}</span>);
  return <bdi>{pieces}</bdi>;
}
