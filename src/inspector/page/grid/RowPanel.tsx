import { useState } from "preact/hooks";
import type { JsonField } from "../../../namespace/tables.ts";
import type { CellPreview } from "../../calls/answers.ts";
import { call, type ImageCell, type TableChoice } from "../calls.ts";
import { formatType, isVectorField, visibleText } from "../format.ts";
import { Busy, Drawer, Failure, Result } from "../parts.tsx";
import { useCall } from "../state.ts";
import { Cell } from "./Cell.tsx";
import { CellImage } from "./CellImage.tsx";

interface RowPanelProps {
  readonly choice: TableChoice;
  readonly fields: readonly JsonField[];
  readonly rowId: string | null;
  readonly title: string;
  readonly focus?: string;
  close(): void;
  findLike(rowId: string): void;
}

const MAX_FIELDS = 200;

/** All values of a row, one below the other. */
export function RowPanel({ choice, fields, rowId, title, focus, close, findLike }: RowPanelProps) {
  const columns = fields.slice(0, MAX_FIELDS).map(({ name }) => name);
  const loaded = useCall(
    rowId === null ? null : (signal) => call("rows", { ...choice, columns, rowIds: [rowId] }, signal),
    [choice, rowId],
  );
  return (
    <Drawer title={title} close={close}>
      {rowId === null ? <Busy /> : <p class="quiet">row id {rowId}</p>}
      {rowId !== null && fields.some(isVectorField) && (
        <button type="button" onClick={() => findLike(rowId)}>
          More like this
        </button>
      )}
      <Result of={loaded}>
        {({ rows }) => (
          <dl class="row-values">
            {columns.map((column, index) => (
              <Value
                key={column}
                field={fields[index]}
                cell={rows[0]?.[index] ?? null}
                of={{ ...choice, rowId: rowId ?? "", column }}
                isOpen={column === focus}
              />
            ))}
          </dl>
        )}
      </Result>
    </Drawer>
  );
}

interface ValueProps {
  readonly field: JsonField;
  readonly cell: CellPreview;
  readonly of: ImageCell;
  readonly isOpen: boolean;
}

function Value({ field, cell, of, isOpen }: ValueProps) {
  const [isWhole, setWhole] = useState(isOpen && isLong(cell));
  return (
    <div class={isOpen ? "row-value focus" : "row-value"}>
      <dt>
        <bdi>{visibleText(field.name)}</bdi> <span class="type">{formatType(field.type)}</span>
      </dt>
      <dd>
        {typeof cell === "object" && cell?.kind === "bytes" && cell.media !== null ? (
          <CellImage class="picture" alt={cell.media} of={of} />
        ) : isWhole ? (
          <Whole of={of} />
        ) : (
          <>
            <Cell cell={cell} of={of} />
            {isLong(cell) && (
              <button type="button" class="link" onClick={() => setWhole(true)}>
                show all
              </button>
            )}
          </>
        )}
      </dd>
    </div>
  );
}

const isLong = (cell: CellPreview): boolean =>
  typeof cell === "object" &&
  cell !== null &&
  cell.kind !== "number" &&
  (cell.kind !== "bytes" || cell.media === null);

function Whole({ of }: Pick<ValueProps, "of">) {
  const loaded = useCall((signal) => call("cell", of, signal), [of]);
  if (loaded.error !== null) return <Failure error={loaded.error} retry={loaded.reload} />;
  if (loaded.value === null) return <Busy />;
  return (
    <>
      <pre class="whole" dir="auto" tabIndex={0} aria-label="Whole value">
        {loaded.value.text.replace(/[^\n\t\P{C}]/gu, (character) => visibleText(character))}
      </pre>
      {loaded.value.isCut && <p class="quiet">The value goes on; only its beginning is shown.</p>}
    </>
  );
}
