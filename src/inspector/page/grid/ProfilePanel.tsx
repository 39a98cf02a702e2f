import type { JsonField } from "../../../namespace/tables.ts";
import type { ProfileAnswer, ProfileBar } from "../../calls/answers.ts";
import { call, type TableChoice } from "../calls.ts";
import { formatCount, formatType, quoteName, visibleText } from "../format.ts";
import { Drawer, Result } from "../parts.tsx";
import { useCall } from "../state.ts";

interface ProfilePanelProps {
  readonly choice: TableChoice;
  readonly fields: readonly JsonField[];
  readonly column: string;
  readonly filter: string;
  narrow(filter: string): void;
  close(): void;
}

/** Statistics of a column, over the rows that the filter selects. */
export function ProfilePanel({ choice, fields, column, filter, narrow, close }: ProfilePanelProps) {
  const asked = { ...choice, column, filter };
  const loaded = useCall((signal) => call("profile", asked, signal), [asked]);
  const field = fields.find(({ name }) => name === column);
  const keep = (value: string) => {
    const condition = `${quoteName(column)} = '${value.replaceAll("'", "''")}'`;
    narrow(filter === "" ? condition : `(${filter}) AND ${condition}`);
  };
  return (
    <Drawer title={column} close={close}>
      {field && <code>{formatType(field.type)}</code>}
      <Result of={loaded}>
        {(profile) => (
          <Profile profile={profile} keep={keep} isText={/utf8|string/.test(field?.type.type ?? "")} />
        )}
      </Result>
    </Drawer>
  );
}

function Profile({
  profile,
  keep,
  isText,
}: {
  readonly profile: ProfileAnswer;
  readonly isText: boolean;
  keep(value: string): void;
}) {
  const { rows, nulls, distinct, min, max, mean, lengths, notFinite, histogram, frequent, sampledRows } =
    profile;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["Rows", formatCount(rows)],
    ["Nulls", `${formatCount(nulls)}${rows > 0 ? ` (${((nulls / rows) * 100).toFixed(1)} %)` : ""}`],
    ["Distinct", distinct === undefined ? undefined : `about ${formatCount(distinct)}`],
    ["Smallest", min],
    ["Largest", max],
    ["Mean", mean === undefined ? undefined : String(Number(mean.toPrecision(6)))],
    ["Not finite", notFinite === undefined ? undefined : formatCount(notFinite)],
    ["Lengths", lengths && `${formatCount(lengths.min)} to ${formatCount(lengths.max)}`],
  ];
  return (
    <>
      <dl class="facts-list">
        {facts
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd dir="auto">{visibleText(value ?? "")}</dd>
            </div>
          ))}
      </dl>
      {histogram && histogram.length > 0 && <Histogram bars={histogram} />}
      {frequent && frequent.length > 0 && (
        <>
          <h3>
            Most frequent
            {sampledRows === undefined ? "" : `, of a sample of ${formatCount(sampledRows)} rows`}
          </h3>
          <ol class="frequent">
            {frequent.map((bar) => (
              <li key={bar.label}>
                <div
                  class="share"
                  style={{ width: `${(bar.count / frequent[0].count) * 100}%` }}
                  aria-hidden="true"
                />
                {isText ? (
                  <button
                    type="button"
                    class="link"
                    title="Only rows with this value"
                    onClick={() => keep(bar.label)}
                  >
                    <bdi>{bar.label === "" ? "empty" : visibleText(bar.label)}</bdi>
                  </button>
                ) : (
                  <bdi>{visibleText(bar.label)}</bdi>
                )}
                <span>{formatCount(bar.count)}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}

function Histogram({ bars }: { readonly bars: readonly ProfileBar[] }) {
  const highest = Math.max(1, ...bars.map(({ count }) => count));
  return (
    <figure class="histogram">
      <div class="columns" role="list" aria-label="Histogram">
        {bars.map(({ label, count }) => (
          <div
            role="listitem"
            key={label}
            title={`${label}: ${formatCount(count)}`}
            aria-label={`${label}: ${formatCount(count)} rows`}
          >
            <div style={{ height: `${count === 0 ? 0 : Math.max(2, (count / highest) * 100)}%` }} />
          </div>
        ))}
      </div>
      <figcaption>
        <span>{bars[0].label.split(" … ")[0]}</span>
        <span>{bars.at(-1)?.label.split(" … ").at(-1)}</span>
      </figcaption>
    </figure>
  );
}
