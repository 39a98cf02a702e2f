import { useState } from "preact/hooks";
import type { SearchAnswer } from "../../calls/answers.ts";
import type { ViewProps } from "../App.tsx";
import { call } from "../calls.ts";
import { formatCount, formatMs, isVectorField, visibleText } from "../format.ts";
import { Cell } from "../grid/Cell.tsx";
import { RowPanel } from "../grid/RowPanel.tsx";
import { Plan } from "../Plan.tsx";
import { Empty, Result } from "../parts.tsx";
import { useCall } from "../state.ts";

interface Search {
  readonly text?: string;
  readonly textColumns?: readonly string[];
  readonly vector?: readonly number[];
  readonly likeRow?: string;
  readonly vectorColumn?: string;
  readonly filter: string;
  readonly limit: number;
  readonly nprobes?: number;
  readonly refineFactor?: number;
  readonly exact?: boolean;
}

/** Rows of a search at most. */
const MAX_ROWS = 500;

/** Numbers as people paste them: with brackets, commas, spaces or line breaks. */
function parseVector(text: string): number[] | null {
  const words = text
    .replace(/[[\](){},;]/g, " ")
    .trim()
    .split(/\s+/)
    .filter(Boolean);
  const numbers = words.map(Number);
  return numbers.length > 0 && numbers.every((value) => !Number.isNaN(value)) ? numbers : null;
}

/** Texts of the fields of the form, as the user typed them. */
interface FormTexts {
  readonly text: string;
  readonly like: string;
  readonly vector: string;
  readonly vectorColumn: string;
  readonly filter: string;
  readonly limit: string;
  readonly nprobes: string;
  readonly refine: string;
}

/** Returns the search that a form describes, or a sentence that says why there is none. */
function searchOf(texts: FormTexts, isExact: boolean): Search | string {
  const { vectorColumn, filter } = texts;
  const [text, like, pasted] = [texts.text.trim(), texts.like.trim(), texts.vector.trim()];
  const vector = pasted === "" ? null : parseVector(pasted);
  if (pasted !== "" && vector === null) {
    return "The vector must be numbers with spaces or commas between them.";
  }
  if (text === "" && like === "" && vector === null) return "Enter words, a row id or a vector.";
  const words = {
    filter,
    limit: Math.max(1, Math.min(MAX_ROWS, Number(texts.limit) || 20)),
    ...(text !== "" && { text }),
  };
  if (like === "" && vector === null) return words;
  return {
    ...words,
    vectorColumn,
    exact: isExact,
    ...(vector !== null ? { vector } : { likeRow: like }),
    ...(Number(texts.nprobes) > 0 && { nprobes: Number(texts.nprobes) }),
    ...(Number(texts.refine) > 0 && { refineFactor: Number(texts.refine) }),
  };
}

/** Searches by text, by vector, or by both, with the plan of the query. */
export function SearchView({ choice, table, route, go }: ViewProps) {
  const vectorColumns = (table.description.schema?.fields ?? [])
    .filter(isVectorField)
    .map(({ name }) => name);
  const textColumns = table.indexes
    .filter(({ indexType }) => indexType === "FTS")
    .flatMap(({ columns }) => columns);
  const [search, setSearch] = useState<Search | null>(
    route.like === undefined
      ? null
      : { likeRow: route.like, vectorColumn: vectorColumns[0] ?? "", filter: "", limit: 20 },
  );
  if (vectorColumns.length === 0 && textColumns.length === 0) {
    return (
      <Empty title="Nothing to search yet">
        <p>
          A search needs a column of vectors, or an index of words. <code>createIndex</code> with the kind{" "}
          <code>FTS</code> builds one.
        </p>
      </Empty>
    );
  }
  return (
    <div class="scroll padded">
      <SearchForm {...{ vectorColumns, textColumns }} like={route.like ?? ""} run={setSearch} />
      {search !== null && (
        <SearchResult
          {...{ choice, table, search }}
          findLike={(row) => go({ ...route, view: "search", like: row })}
          key={JSON.stringify(search)}
        />
      )}
    </div>
  );
}

interface SearchFormProps {
  readonly vectorColumns: readonly string[];
  readonly textColumns: readonly string[];
  /** Row id to begin with. */
  readonly like: string;
  run(search: Search): void;
}

function SearchForm({ vectorColumns, textColumns, like, run }: SearchFormProps) {
  const [texts, setTexts] = useState<FormTexts>({
    ...{ text: "", vector: "", filter: "", limit: "20", nprobes: "", refine: "" },
    ...{ like, vectorColumn: vectorColumns[0] ?? "" },
  });
  const [isExact, setExact] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const hasVectors = vectorColumns.length > 0;
  /** Binds a field to its text. */
  const bind = (name: keyof FormTexts) => ({
    value: texts[name],
    set: (value: string) => setTexts((before) => ({ ...before, [name]: value })),
  });
  const submit = (event: Event) => {
    event.preventDefault();
    const search = searchOf(texts, isExact);
    setProblem(typeof search === "string" ? search : null);
    if (typeof search !== "string") run(search);
  };
  return (
    <>
      <form class="search-form" onSubmit={submit}>
        {textColumns.length > 0 && (
          <Field
            {...bind("text")}
            label={`Words in ${textColumns.map(visibleText).join(", ")}`}
            width="wide"
            placeholder="Words to find"
          />
        )}
        {hasVectors && <Field {...bind("like")} label="Like row" placeholder="Row id" />}
        {hasVectors && <Field {...bind("vector")} label="Vector" width="wide" placeholder="0.12, -0.4, …" />}
        {vectorColumns.length > 1 && (
          <label>
            Column
            <select
              value={texts.vectorColumn}
              onChange={(event) => bind("vectorColumn").set(event.currentTarget.value)}
            >
              {vectorColumns.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <Field {...bind("filter")} label="Filter" width="wide" placeholder="All rows" />
        <Field {...bind("limit")} label="Rows" width="narrow" max={MAX_ROWS} />
        {hasVectors && (
          <>
            <Field {...bind("nprobes")} label="Probes" width="narrow" placeholder="20" />
            <Field {...bind("refine")} label="Refine" width="narrow" placeholder="off" />
            <label class="check">
              <input
                type="checkbox"
                checked={isExact}
                onChange={(event) => setExact(event.currentTarget.checked)}
              />
              Exact
            </label>
          </>
        )}
        <button type="submit" class="primary">
          Search
        </button>
      </form>
      {problem !== null && (
        <div class="failure" role="alert">
          {problem}
        </div>
      )}
    </>
  );
}

interface FieldProps {
  readonly label: string;
  /** `narrow` fields take a positive number. */
  readonly width?: "wide" | "narrow";
  readonly placeholder?: string;
  readonly max?: number;
  readonly value: string;
  set(value: string): void;
}

/** A field of the form, below its label. */
const Field = ({ label, width, placeholder, max, value, set }: FieldProps) => (
  <label class={width}>
    {label}
    <input
      {...(width === "narrow" ? { type: "number", min: 1, max } : { spellcheck: false })}
      value={value}
      placeholder={placeholder}
      onInput={(event) => set(event.currentTarget.value)}
    />
  </label>
);

interface SearchResultProps extends Pick<ViewProps, "choice" | "table"> {
  readonly search: Search;
  findLike(rowId: string): void;
}

function SearchResult({ choice, table, search, findLike }: SearchResultProps) {
  const fields = table.description.schema?.fields ?? [];
  const columns = fields.slice(0, 24).map(({ name }) => name);
  const [isPlanOpen, setPlanOpen] = useState(false);
  const [row, setRow] = useState<string | null>(null);
  const asked = { ...choice, ...search, columns };
  const loaded = useCall((signal) => call("search", asked, signal), [asked]);
  const plan = useCall(isPlanOpen ? (signal) => call("plan", asked, signal) : null, [asked, isPlanOpen]);
  return (
    <div class="with-drawer">
      <div class="column">
        <Result of={loaded}>
          {(answer) => (
            <>
              <div class="toolbar flush">
                <output aria-live="polite">
                  {formatCount(answer.rows.length)} rows in {formatMs(answer.milliseconds)}
                </output>
                <button type="button" aria-expanded={isPlanOpen} onClick={() => setPlanOpen(!isPlanOpen)}>
                  {isPlanOpen ? "Hide the plan" : "Show the plan and its times"}
                </button>
              </div>
              {isPlanOpen && <Result of={plan}>{({ plan: root }) => <Plan root={root} />}</Result>}
              {answer.rows.length === 0 ? (
                <Empty title="No row was found" />
              ) : (
                <Hits {...{ answer, choice, open: setRow }} />
              )}
            </>
          )}
        </Result>
      </div>
      {row !== null && (
        <RowPanel
          {...{ choice, fields, findLike }}
          rowId={row}
          title="Found row"
          close={() => setRow(null)}
        />
      )}
    </div>
  );
}

const SCORES = ["_relevance_score", "_score", "_distance"];

interface HitsProps extends Pick<ViewProps, "choice"> {
  readonly answer: SearchAnswer;
  open(rowId: string): void;
}

function Hits({ answer, choice, open }: HitsProps) {
  const { columns, rows, rowIds, highlights } = answer;
  const order = [...columns.keys()].sort((left, right) => rank(columns[left]) - rank(columns[right]));
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Rows of the search">
      <table class="plain hits">
        <thead>
          <tr>
            <th scope="col">row id</th>
            {order.map((index) => (
              <th scope="col" key={columns[index]}>
                <bdi>{visibleText(columns[index].replace(/^_/, "").replace("_", " "))}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={rowIds[row]}>
              <td>
                <button
                  type="button"
                  class="link"
                  onClick={() => open(rowIds[row])}
                  aria-label={`Open row ${rowIds[row]}`}
                >
                  {rowIds[row]}
                </button>
              </td>
              {order.map((index) => {
                const cell = cells[index];
                const isScore = SCORES.includes(columns[index]);
                return (
                  <td key={columns[index]} class={isScore || typeof cell === "number" ? "number" : ""}>
                    {isScore && typeof cell === "number" ? (
                      cell.toPrecision(4)
                    ) : (
                      <Cell
                        cell={cell}
                        of={{ ...choice, rowId: rowIds[row], column: columns[index] }}
                        marks={highlights[row]?.filter(({ column }) => column === columns[index]) ?? []}
                      />
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Scores come first, because they say why a row is here. */
const rank = (column: string): number => {
  const score = SCORES.indexOf(column);
  return score < 0 ? SCORES.length : score;
};
