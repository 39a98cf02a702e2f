import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JsonField } from "../../../namespace/tables.ts";
import type { TableChoice } from "../calls.ts";
import { formatCount, formatType, isNumberField, visibleText } from "../format.ts";
import { useVirtual } from "../useVirtual.ts";
import { Cell, textOfCell } from "./Cell.tsx";
import { PENDING, type RowSource } from "./RowSource.ts";

const ROW_HEIGHT = 30;
const HEADER_HEIGHT = 46;
/** Height of the scrolled area at most: browsers limit elements to some 17 million pixels. */
const MAX_HEIGHT = 8_000_000;
const NUMBER_WIDTH = 76;

export interface SortOrder {
  readonly column: string;
  readonly ascending: boolean;
}

interface GridProps {
  readonly source: RowSource;
  readonly turn: number;
  readonly fields: readonly JsonField[];
  readonly choice: TableChoice;
  readonly order: SortOrder | null;
  readonly rowCount: number;
  /** Row to begin with. */
  readonly firstRow: number;
  sort(order: SortOrder | null): void;
  describe(column: string): void;
  open(row: number, column: number): void;
}

/** Widths by the type of a column, in pixels; the first that fits counts. */
const WIDTHS: readonly (readonly [types: RegExp, width: number])[] = [
  [/^(?:struct|map|list|large_list)/, 260],
  [/utf8|string/, 220],
  [/^(?:float64|double|timestamp|fixed_size_list)/, 175],
];

function initialWidth(field: JsonField): number {
  const typed = WIDTHS.find(([types]) => types.test(field.type.type))?.[1] ?? 130;
  return Math.max(typed, Math.min(field.name.length * 8 + 58, 280));
}

/** A grid of any number of rows. Only what is in sight exists in the document. */
export function Grid({
  source,
  fields,
  choice,
  order,
  rowCount,
  firstRow: startRow,
  sort,
  describe,
  open,
}: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 800, height: 400 });
  const [offset, setOffset] = useState(0);
  const [active, setActive] = useState<readonly [number, number]>([0, 0]);
  const [widths, setWidths] = useState<Readonly<Record<string, number>>>({});
  const ownScroll = useRef<number | null>(null);
  const widthOf = (index: number): number => widths[fields[index].name] ?? initialWidth(fields[index]);
  const {
    items: columns,
    totalSize: totalWidth,
    virtualizer,
  } = useVirtual(box, {
    count: fields.length,
    estimateSize: widthOf,
    overscan: 3,
    horizontal: true,
  });
  useEffect(() => virtualizer.measure(), [widths, fields]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const viewHeight = Math.max(ROW_HEIGHT, size.height - HEADER_HEIGHT);
  const wholeHeight = rowCount * ROW_HEIGHT;
  const scrolledHeight = Math.min(wholeHeight, MAX_HEIGHT);
  const maxOffset = Math.max(0, wholeHeight - viewHeight);
  const scale = scrolledHeight > viewHeight ? maxOffset / (scrolledHeight - viewHeight) : 1;
  const top = Math.min(offset, maxOffset);
  const firstRow = Math.max(0, Math.floor(top / ROW_HEIGHT));
  const lastRow = Math.min(rowCount - 1, Math.ceil((top + viewHeight) / ROW_HEIGHT));
  const firstColumn = columns[0]?.index ?? 0;
  const lastColumn = columns.at(-1)?.index ?? 0;

  const moveTo = (next: number) => {
    const bounded = Math.max(0, Math.min(maxOffset, next));
    setOffset(bounded);
    if (box.current === null) return;
    ownScroll.current = bounded / scale;
    box.current.scrollTop = bounded / scale;
  };
  const scrolled = () => {
    const position = box.current?.scrollTop ?? 0;
    // A position that this code set stands for a more exact offset.
    if (ownScroll.current !== null && Math.abs(position - ownScroll.current) <= 1.5) return;
    ownScroll.current = null;
    setOffset(position * scale);
  };
  useEffect(() => {
    const element = box.current;
    if (element === null || scale <= 1) return undefined;
    // In a scaled grid, a turn of the wheel must not skip rows.
    const turnWheel = (event: WheelEvent) => {
      if (event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      moveTo(top + event.deltaY * (event.deltaMode === 1 ? ROW_HEIGHT : 1));
    };
    element.addEventListener("wheel", turnWheel, { passive: false });
    return () => element.removeEventListener("wheel", turnWheel);
  });
  useEffect(() => {
    const timer = setTimeout(() => source.show([firstRow, lastRow], [firstColumn, lastColumn]), 30);
    return () => clearTimeout(timer);
  }, [source, firstRow, lastRow, firstColumn, lastColumn, rowCount]);
  useEffect(() => {
    const row = Math.max(0, Math.min(rowCount - 1, startRow));
    moveTo(row * ROW_HEIGHT);
    setActive([row, 0]);
  }, [source, startRow]);

  const select = (row: number, column: number) => {
    const chosen = [
      Math.max(0, Math.min(rowCount - 1, row)),
      Math.max(0, Math.min(fields.length - 1, column)),
    ] as const;
    setActive(chosen);
    const rowTop = chosen[0] * ROW_HEIGHT;
    if (rowTop < top) moveTo(rowTop);
    else if (rowTop + ROW_HEIGHT > top + viewHeight) moveTo(rowTop + ROW_HEIGHT - viewHeight);
    if (chosen[1] !== active[1]) virtualizer.scrollToIndex(chosen[1]);
  };
  const press = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).closest("button") !== null) return;
    const [row, column] = active;
    const page = Math.max(1, Math.floor(viewHeight / ROW_HEIGHT) - 1);
    const isWhole = event.ctrlKey || event.metaKey;
    const moves: Readonly<Record<string, () => void>> = {
      ArrowDown: () => select(row + 1, column),
      ArrowUp: () => select(row - 1, column),
      ArrowRight: () => select(row, column + 1),
      ArrowLeft: () => select(row, column - 1),
      PageDown: () => select(row + page, column),
      PageUp: () => select(row - page, column),
      Home: () => select(isWhole ? 0 : row, 0),
      End: () => select(isWhole ? rowCount - 1 : row, fields.length - 1),
      Enter: () => open(row, column),
      c: () => {
        const cell = source.cell(row, column);
        if (isWhole && cell !== PENDING)
          navigator.clipboard?.writeText(textOfCell(cell)).catch(() => undefined);
      },
    };
    const move = moves[event.key];
    if (move === undefined || (event.key === "c" && !isWhole)) return;
    event.preventDefault();
    move();
  };

  const rows = Array.from({ length: Math.max(0, lastRow - firstRow + 1) }, (_, index) => firstRow + index);
  return (
    <div
      class="grid"
      role="grid"
      aria-label="Rows"
      aria-rowcount={rowCount + 1}
      aria-colcount={fields.length + 1}
      aria-activedescendant={`cell-${active[0]}-${active[1]}`}
      tabIndex={0}
      ref={box}
      onScroll={scrolled}
      onKeyDown={press}
    >
      <div class="grid-head" role="row" aria-rowindex={1} style={{ width: `${totalWidth + NUMBER_WIDTH}px` }}>
        <div class="corner" role="columnheader" aria-colindex={1} style={{ width: `${NUMBER_WIDTH}px` }}>
          row
        </div>
        {columns.map(({ index, start }) => (
          <ColumnHead
            key={fields[index].name}
            field={fields[index]}
            index={index}
            left={start + NUMBER_WIDTH}
            width={widthOf(index)}
            order={order}
            sort={sort}
            describe={describe}
            resize={(width) => setWidths({ ...widths, [fields[index].name]: width })}
          />
        ))}
      </div>
      <div
        class="grid-body"
        role="presentation"
        style={{ height: `${scrolledHeight}px`, width: `${totalWidth + NUMBER_WIDTH}px` }}
      >
        <div
          role="presentation"
          class="grid-rows"
          // The rows stay where the reader looks, whatever the scale.
          style={{ transform: `translateY(${top / scale - (top - firstRow * ROW_HEIGHT)}px)` }}
        >
          {rows.map((row) => (
            <div
              class={row === active[0] ? "grid-row active" : "grid-row"}
              role="row"
              aria-rowindex={row + 2}
              key={row}
            >
              <div
                class="row-number"
                role="rowheader"
                aria-colindex={1}
                style={{ width: `${NUMBER_WIDTH}px` }}
              >
                {formatCount(row)}
              </div>
              {columns.map(({ index, start }) => {
                const cell = source.cell(row, index);
                const rowId = source.rowId(row);
                const field = fields[index];
                const isActive = row === active[0] && index === active[1];
                return (
                  <div
                    key={field.name}
                    id={`cell-${row}-${index}`}
                    role="gridcell"
                    aria-colindex={index + 2}
                    aria-selected={isActive}
                    class={`cell${isActive ? " active" : ""}${isNumberField(field) ? " numeric" : ""}`}
                    style={{ left: `${start + NUMBER_WIDTH}px`, width: `${widthOf(index)}px` }}
                    onClick={() => select(row, index)}
                    onDblClick={() => open(row, index)}
                    {...(typeof cell === "object" && cell?.kind === "vector"
                      ? { "aria-label": textOfCell(cell) }
                      : {})}
                  >
                    {cell === PENDING ? (
                      <span class="pending" aria-label="loading" />
                    ) : (
                      <Cell
                        cell={cell}
                        {...(rowId !== null && { of: { ...choice, rowId, column: field.name } })}
                      />
                    )}
                  </div>
                );
              })}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

interface ColumnHeadProps {
  readonly field: JsonField;
  readonly index: number;
  readonly left: number;
  readonly width: number;
  readonly order: SortOrder | null;
  sort(order: SortOrder | null): void;
  describe(column: string): void;
  resize(width: number): void;
}

const SORTABLE =
  /^(u?int|float|half|double|decimal|utf8|large_utf8|string|bool|date|time|timestamp|duration|binary|large_binary|fixed_size_binary)/;

function ColumnHead({ field, index, left, width, order, sort, describe, resize }: ColumnHeadProps) {
  const isSorted = order?.column === field.name;
  const direction = isSorted ? (order.ascending ? "ascending" : "descending") : "none";
  const canSort = SORTABLE.test(field.type.type);
  const next = (): SortOrder | null => {
    if (!isSorted) return { column: field.name, ascending: true };
    return order.ascending ? { column: field.name, ascending: false } : null;
  };
  const drag = (event: PointerEvent) => {
    const handle = event.currentTarget as HTMLElement;
    handle.setPointerCapture(event.pointerId);
    const start = event.clientX - width;
    const move = (moved: PointerEvent) => resize(Math.max(60, Math.min(1200, moved.clientX - start)));
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", move), {
      once: true,
    });
  };
  const type = formatType(field.type);
  return (
    <div
      class="column-head"
      role="columnheader"
      aria-colindex={index + 2}
      aria-sort={direction}
      style={{ left: `${left}px`, width: `${width}px` }}
    >
      <button
        type="button"
        class="sort"
        disabled={!canSort}
        onClick={() => sort(next())}
        title={`${visibleText(field.name)}: ${type}${canSort ? ". Click to sort" : ""}`}
      >
        <bdi class="name">{visibleText(field.name)}</bdi>
        <span aria-hidden="true">{isSorted ? (order.ascending ? " ▲" : " ▼") : ""}</span>
        <span class="type">{type}</span>
      </button>
      <button
        type="button"
        class="icon statistics"
        aria-label={`Statistics of ${visibleText(field.name)}`}
        title="Statistics"
        onClick={() => describe(field.name)}
      >
        <svg width="14" height="12" viewBox="0 0 14 12" aria-hidden="true">
          <path d="M1 12V7h3v5M5.5 12V2h3v10M10 12V5h3v7" />
        </svg>
      </button>
      <span class="resize" onPointerDown={drag} aria-hidden="true" />
    </div>
  );
}
