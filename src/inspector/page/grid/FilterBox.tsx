import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JsonField } from "../../../namespace/tables.ts";
import { call, type TableChoice } from "../calls.ts";
import { formatType, isTextField, quoteName, visibleText } from "../format.ts";

interface FilterBoxProps {
  readonly choice: TableChoice;
  readonly fields: readonly JsonField[];
  readonly filter: string;
  readonly error: Error | null;
  readonly label?: string;
  apply(filter: string): void;
}

interface Completion {
  readonly text: string;
  readonly note: string;
}

const MAX_COMPLETIONS = 12;
const KEYWORDS: readonly Completion[] = [
  ...["AND", "OR", "NOT", "IS NULL", "IS NOT NULL"].map((text) => ({ text, note: "logic" })),
  ...["IN (", "BETWEEN ", "LIKE '"].map((text) => ({ text, note: "comparison" })),
  ...[
    "lower(",
    "upper(",
    "length(",
    "starts_with(",
    "contains(",
    "regexp_like(",
    "array_has(",
    "array_length(",
  ].map((text) => ({ text, note: "function" })),
  ...["abs(", "round(", "floor(", "date_trunc('day', ", "now()", "coalesce(", "cast("].map((text) => ({
    text,
    note: "function",
  })),
];

/** Paths of the columns, with the members of structs. */
function pathsOf(fields: readonly JsonField[], parent = ""): Completion[] {
  return fields.flatMap((field) => {
    const path = parent + quoteName(field.name);
    const members = field.type.type === "struct" ? pathsOf(field.type.fields ?? [], `${path}.`) : [];
    return [{ text: path, note: formatType(field.type) }, ...members];
  });
}

/** The word before the cursor: an unfinished name, or a text after a comparison. */
function wordAt(
  text: string,
  cursor: number,
): { readonly start: number; readonly word: string; readonly column: string | null } {
  const before = text.slice(0, cursor);
  const quoted = /(`(?:[^`]|``)+`|[\p{L}_][\p{L}\p{N}_.]*)\s*(?:=|<>|!=|LIKE|IN\s*\()\s*'([^']*)$/iu.exec(
    before,
  );
  if (quoted !== null)
    return {
      start: cursor - quoted[2].length,
      word: quoted[2],
      column: quoted[1].replace(/^`|`$/g, "").replaceAll("``", "`"),
    };
  const word = /(?:`[^`]*|[\p{L}_][\p{L}\p{N}_.]*)$/u.exec(before)?.[0] ?? "";
  return { start: cursor - word.length, word, column: null };
}

/** Field of a filter, with completion of names and values. Errors show where they are. */
export function FilterBox({ choice, fields, filter, error, apply, label = "Filter" }: FilterBoxProps) {
  const [text, setText] = useState(filter);
  const [cursor, setCursor] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const [values, setValues] = useState<{ readonly column: string; readonly list: readonly string[] } | null>(
    null,
  );
  const input = useRef<HTMLInputElement>(null);
  /** Place of the cursor after a completion that is not rendered yet. */
  const completedEnd = useRef<number | null>(null);
  const listId = useId();
  useEffect(() => setText(filter), [filter]);
  const { start, word, column } = wordAt(text, cursor);
  useEffect(() => {
    if (
      column === null ||
      values?.column === column ||
      !fields.some((field) => field.name === column && isTextField(field))
    )
      return undefined;
    const abort = new AbortController();
    call("profile", { ...choice, column }, abort.signal).then(
      ({ frequent = [] }) => setValues({ column, list: frequent.map((each) => each.label) }),
      () => undefined, // Completion is a help; the filter itself reports errors.
    );
    return () => abort.abort();
  }, [column]);
  const candidates: readonly Completion[] =
    column !== null
      ? (values?.column === column ? values.list : []).map((value) => ({
          text: `${value.replaceAll("'", "''")}'`,
          note: "value",
        }))
      : [...pathsOf(fields), ...KEYWORDS];
  const wanted = word.replace(/^`/, "").toLowerCase();
  const completions = candidates
    .filter(
      (each) =>
        (column !== null || wanted !== "") && each.text.replace(/^`/, "").toLowerCase().startsWith(wanted),
    )
    .filter((each) => each.text.toLowerCase() !== word.toLowerCase())
    .slice(0, MAX_COMPLETIONS);
  const isShown = isOpen && completions.length > 0;
  const complete = ({ text: completion }: Completion) => {
    const next = text.slice(0, start) + completion + text.slice(cursor);
    const end = start + completion.length;
    setText(next);
    setActive(-1);
    setCursor(end);
    completedEnd.current = end;
  };
  useLayoutEffect(() => {
    // With the text itself: a frame later, the user may have typed on.
    if (completedEnd.current === null) return;
    input.current?.focus();
    input.current?.setSelectionRange(completedEnd.current, completedEnd.current);
    completedEnd.current = null;
  }, [text]);
  const press = (event: KeyboardEvent) => {
    if (isShown && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const step = event.key === "ArrowDown" ? 1 : -1;
      setActive((active + step + completions.length + 1) % (completions.length + 1));
    } else if (
      isShown &&
      active >= 0 &&
      active < completions.length &&
      (event.key === "Enter" || event.key === "Tab")
    ) {
      complete(completions[active]);
    } else if (event.key === "Enter") {
      setOpen(false);
      apply(text.trim());
    } else if (event.key === "Escape") {
      setOpen(false);
    } else return;
    event.preventDefault();
  };
  const follow = () => setCursor(input.current?.selectionStart ?? 0);
  return (
    <div class="filter">
      <div class="filter-line">
        <input
          ref={input}
          role="combobox"
          aria-label={label}
          aria-expanded={isShown}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-invalid={error !== null}
          {...(isShown && active >= 0 ? { "aria-activedescendant": `${listId}-${active}` } : {})}
          placeholder={`${label}, such as ${exampleOf(fields)}`}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setOpen(true);
            setActive(-1);
            follow();
          }}
          onKeyUp={follow}
          onClick={follow}
          onKeyDown={press}
          onBlur={() => setTimeout(() => setOpen(false), 150)}
        />
        <button type="button" class="primary" onClick={() => apply(text.trim())}>
          Apply
        </button>
        {filter !== "" && (
          <button
            type="button"
            onClick={() => {
              setText("");
              apply("");
            }}
          >
            Clear
          </button>
        )}
      </div>
      <ul class="completions" role="listbox" id={listId} aria-label="Completions" hidden={!isShown}>
        {completions.map((completion, index) => (
          <li
            key={completion.text}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === active}
            onPointerDown={(event) => {
              event.preventDefault();
              complete(completion);
            }}
          >
            <bdi>{visibleText(completion.text)}</bdi>
            <span class="quiet">{completion.note}</span>
          </li>
        ))}
      </ul>
      {error !== null && (
        <div class="failure" role="alert">
          <pre>{error.message}</pre>
        </div>
      )}
    </div>
  );
}

function exampleOf(fields: readonly JsonField[]): string {
  const number = fields.find(({ type }) => /^(u?int|float|half|double)/.test(type.type));
  const text = fields.find(isTextField);
  if (number !== undefined) return `${quoteName(number.name)} > 10`;
  if (text !== undefined) return `${quoteName(text.name)} LIKE 'a%'`;
  return "column IS NOT NULL";
}
