import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { ViewProps } from "../App.tsx";
import { call } from "../calls.ts";
import { formatCount } from "../format.ts";
import { FilterBox } from "../grid/FilterBox.tsx";
import { Grid, type SortOrder } from "../grid/Grid.tsx";
import { ProfilePanel } from "../grid/ProfilePanel.tsx";
import { RowPanel } from "../grid/RowPanel.tsx";
import { FIRST_MATCHES, type GridQuery, RowSource } from "../grid/RowSource.ts";
import { Plan } from "../Plan.tsx";
import { Busy, Empty, Failure, Result } from "../parts.tsx";
import { useCall, withAllRows } from "../state.ts";

type Panel =
  | { readonly kind: "column"; readonly column: string }
  | { readonly kind: "row"; readonly row: number; readonly column: string }
  | null;

/** Rows of a version in a grid, with a filter and an order. */
export function RowsView({ choice, table, route, go }: ViewProps) {
  const fields = table.description.schema?.fields ?? [];
  const filter = route.filter ?? "";
  const setFilter = (text: string) => go({ ...withAllRows(route), ...(text !== "" && { filter: text }) });
  const [order, setOrder] = useState<SortOrder | null>(null);
  const [panel, setPanel] = useState<Panel>(null);
  const [isPlanOpen, setPlanOpen] = useState(false);
  const [startRow, setStartRow] = useState(route.row ?? 0);
  useEffect(() => setStartRow(route.row ?? 0), [route.row]);
  const query: GridQuery = useMemo(
    () => ({
      choice,
      columns: fields.map(({ name }) => name),
      filter,
      orderBy: order,
      totalRows: table.stats.numRows,
    }),
    [choice, fields, filter, order, table],
  );
  const { source, turn } = useSource(query);
  if (fields.length === 0) return <Empty title="This table has no columns" />;
  const rowCount = source?.rowCount ?? null;
  return (
    <div class="with-drawer">
      <div class="column">
        <FilterBox
          choice={choice}
          fields={fields}
          filter={filter}
          apply={setFilter}
          error={filter === "" ? null : (source?.error ?? null)}
        />
        <div class="toolbar">
          <output aria-live="polite">
            {source?.error
              ? ""
              : source?.matchCount == null
                ? "counting…"
                : `${formatCount(source.matchCount)} row${source.matchCount === 1 ? "" : "s"}`}
            {filter !== "" && source?.matchCount != null && ` of ${formatCount(table.stats.numRows)}`}
          </output>
          {order !== null && (
            <span class="chip">
              sorted by <bdi>{order.column}</bdi> {order.ascending ? "▲" : "▼"}
              <button type="button" class="link" onClick={() => setOrder(null)}>
                clear
              </button>
            </span>
          )}
          {(filter !== "" || order !== null) && source?.error == null && (
            <button type="button" aria-expanded={isPlanOpen} onClick={() => setPlanOpen(!isPlanOpen)}>
              {isPlanOpen ? "Hide the plan" : "Show the plan and its times"}
            </button>
          )}
          {rowCount !== null && rowCount > 100 && <GoTo rowCount={rowCount} go={setStartRow} />}
          {rowCount !== null && source?.matchCount != null && rowCount < source.matchCount && (
            <span class="quiet">the first {formatCount(rowCount)} can be scrolled to</span>
          )}
        </div>
        {isPlanOpen && (filter !== "" || order !== null) && <GridPlan query={query} />}
        {source === null || (rowCount === null && source.error === null) ? (
          <Busy label="Finding rows" />
        ) : source.error !== null ? (
          filter === "" && <Failure error={source.error} />
        ) : rowCount === 0 ? (
          <Empty title={filter === "" ? "This version has no rows" : "No row passes the filter"}>
            {filter !== "" && (
              <button type="button" onClick={() => setFilter("")}>
                Remove the filter
              </button>
            )}
          </Empty>
        ) : (
          <Grid
            source={source}
            turn={turn}
            fields={fields}
            choice={choice}
            order={order}
            rowCount={rowCount ?? 0}
            firstRow={startRow}
            sort={setOrder}
            describe={(column) => setPanel({ kind: "column", column })}
            open={(row, column) => setPanel({ kind: "row", row, column: fields[column].name })}
          />
        )}
      </div>
      {panel?.kind === "column" && source?.error == null && (
        <ProfilePanel
          choice={choice}
          fields={fields}
          column={panel.column}
          filter={filter}
          narrow={setFilter}
          close={() => setPanel(null)}
        />
      )}
      {panel?.kind === "row" && source !== null && (
        <RowPanel
          choice={choice}
          fields={fields}
          rowId={source.rowId(panel.row)}
          title={`Row ${formatCount(panel.row)}`}
          focus={panel.column}
          close={() => setPanel(null)}
          findLike={(like) => go({ ...route, view: "search", like })}
        />
      )}
    </div>
  );
}

/** Shows how the engine finds the first rows of the grid, and how long each step takes. */
function GridPlan({ query: { choice, filter, orderBy } }: { readonly query: GridQuery }) {
  const order = orderBy === null ? {} : { orderBy };
  const asked = { ...choice, filter, ...order, offset: 0, limit: FIRST_MATCHES };
  const plan = useCall((signal) => call("matchesPlan", asked, signal), [asked]);
  return (
    <div class="grid-plan" tabIndex={0} role="region" aria-label="Plan of the query">
      <Result of={plan}>{({ plan: root }) => <Plan root={root} />}</Result>
    </div>
  );
}

/** Field for the number of a row to scroll to. */
function GoTo({ rowCount, go }: { readonly rowCount: number; go(row: number): void }) {
  const [text, setText] = useState("");
  const row = Number(text.replace(/[,_\s]/g, ""));
  const isBeyond = Number.isSafeInteger(row) && row >= rowCount;
  return (
    <form
      class="go-to"
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== "" && Number.isSafeInteger(row)) go(Math.max(0, Math.min(rowCount - 1, row)));
      }}
    >
      <label>
        <span class="hidden">Go to row</span>
        <input
          inputMode="numeric"
          placeholder="row number"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="link">
        Go to row
      </button>
      {isBeyond && <output class="quiet">the last one is {formatCount(rowCount - 1)}</output>}
    </form>
  );
}

/** Makes a source for a query, and shows it again whenever it has read something. */
function useSource(query: GridQuery): { readonly source: RowSource | null; readonly turn: number } {
  const [turn, redraw] = useReducer((count: number, _: null) => count + 1, 0);
  const current = useRef<{ readonly query: GridQuery; readonly source: RowSource } | null>(null);
  if (current.current?.query !== query) {
    current.current?.source.close();
    current.current = { query, source: new RowSource(query, () => redraw(null)) };
  }
  useEffect(() => () => current.current?.source.close(), []);
  return { source: current.current.source, turn };
}
