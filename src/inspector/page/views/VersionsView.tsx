import { useEffect, useState } from "preact/hooks";
import type { BranchContents } from "../../../namespace/branches.ts";
import type { TableVersion } from "../../../namespace/versions.ts";
import type { RefsAnswer } from "../../calls/answers.ts";
import type { ViewProps } from "../App.tsx";
import { call } from "../calls.ts";
import { formatAgo, formatClock, formatCount, formatDay, formatTime, visibleText } from "../format.ts";
import { Cell } from "../grid/Cell.tsx";
import { Empty, Failure, Result } from "../parts.tsx";
import { useCall, withAllRows } from "../state.ts";

/** Versions as a timeline, branches as a graph, and the difference of two versions. */
export function VersionsView({ choice, route, go, isWritable, reload }: ViewProps) {
  const { id, branch } = choice;
  const refs = useCall((signal) => call("refs", { id }, signal), [id]);
  const [pages, setPages] = useState<readonly string[]>([]);
  const [earlier, setEarlier] = useState<readonly TableVersion[]>([]);
  const token = pages.at(-1);
  const asked = {
    id,
    ...(branch !== undefined && { branch }),
    ...(token !== undefined && { pageToken: token }),
  };
  const history = useCall((signal) => call("history", asked, signal), [asked]);
  const [pair, setPair] = useState<readonly [number, number] | null>(null);
  const [keyColumns, setKeyColumns] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const versions = [...earlier, ...(history.value?.versions ?? [])];
  const change = async (name: "restore" | "createTag" | "deleteTag", members: object) => {
    setError(null);
    try {
      await call(name, { id, ...(branch !== undefined && name !== "deleteTag" && { branch }), ...members });
      refs.reload();
      history.reload();
      reload();
    } catch (reason) {
      setError(reason as Error);
    }
  };
  useEffect(() => {
    setPages([]);
    setEarlier([]);
    setKeyColumns("");
  }, [JSON.stringify([id, branch])]);
  return (
    <div class="scroll padded versions">
      <Result of={refs}>
        {(value) =>
          Object.keys(value.branches).length === 0 ? null : (
            <BranchGraph
              branches={value.branches}
              current={branch}
              choose={(name) => go({ id, view: "versions", ...(name !== null && { branch: name }) })}
            />
          )
        }
      </Result>
      {error !== null && <Failure error={error} />}
      {pair !== null && (
        <Differences
          {...{ choice, pair, keyColumns, setKeyColumns }}
          close={() => setPair(null)}
          key={pair.join()}
        />
      )}
      <ol class="timeline" aria-label="Versions, newest first">
        {versions.map((version, index) => (
          <VersionEntry
            key={version.version}
            version={version}
            day={dayOf(version) === dayOf(versions[index - 1]) ? null : dayOf(version)}
            isShown={version.version === choice.version}
            isLatest={index === 0}
            tags={tagsOf(refs.value, version.version, branch)}
            isWritable={isWritable}
            compare={
              versions[index + 1] === undefined
                ? null
                : () => setPair([versions[index + 1].version, version.version])
            }
            compareWithShown={() =>
              setPair([Math.min(version.version, choice.version), Math.max(version.version, choice.version)])
            }
            visit={() => go({ ...withAllRows(route), view: "rows", version: version.version })}
            change={change}
          />
        ))}
      </ol>
      <Result of={history}>
        {({ pageToken }) =>
          pageToken === undefined ? null : (
            <button
              type="button"
              onClick={() => {
                setEarlier(versions);
                setPages([...pages, pageToken]);
              }}
            >
              Show older versions
            </button>
          )
        }
      </Result>
    </div>
  );
}

const dayOf = (version: TableVersion | undefined): string | null =>
  version === undefined ? null : formatDay(version.timestampMillis);

const tagsOf = (refs: RefsAnswer | null, version: number, branch: string | undefined): string[] =>
  Object.entries(refs?.tags ?? {})
    .filter(([, tag]) => tag.version === version && tag.branch === branch)
    .map(([name]) => name);

interface VersionEntryProps {
  readonly version: TableVersion;
  /** Day of the version, if the entry above is of another day. */
  readonly day: string | null;
  readonly isShown: boolean;
  readonly isLatest: boolean;
  readonly tags: readonly string[];
  readonly isWritable: boolean;
  readonly compare: (() => void) | null;
  compareWithShown(): void;
  visit(): void;
  change(name: "restore" | "createTag" | "deleteTag", members: object): Promise<void>;
}

function VersionEntry(props: VersionEntryProps) {
  const { version, day, isShown, isLatest, tags, isWritable, compare, compareWithShown, visit, change } =
    props;
  const { operation = "", message, rowsAdded, rowsRemoved, rowsChanged, timestampMillis } = version;
  const [tag, setTag] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  return (
    <li class={isShown ? "version shown" : "version"} {...(isShown ? { "aria-current": "true" } : {})}>
      {day !== null && <p class="day">{day}</p>}
      <div class="version-head">
        <strong>{formatCount(version.version)}</strong>
        <span class="chip">{operation}</span>
        <Change sign="+" count={rowsAdded} kind="added" />
        <Change sign="−" count={rowsRemoved} kind="removed" />
        <Change sign="~" count={rowsChanged} kind="changed" />
        {tags.map((name) => (
          <span class="chip tag" key={name}>
            ⚑ <bdi>{name}</bdi>
            {isWritable && (
              <button
                type="button"
                class="link"
                aria-label={`Remove the tag ${name}`}
                onClick={() => change("deleteTag", { tag: name })}
              >
                ✕
              </button>
            )}
          </span>
        ))}
        <time
          dateTime={formatTime(timestampMillis).replace(" UTC", "Z")}
          title={formatTime(timestampMillis)}
          class="quiet"
        >
          {formatClock(timestampMillis)} · {formatAgo(timestampMillis)}
        </time>
      </div>
      {message !== undefined && (
        <p class="message" dir="auto">
          {visibleText(message)}
        </p>
      )}
      <div class="actions">
        <button type="button" class="link" onClick={visit}>
          Rows as of then
        </button>
        {compare !== null && (
          <button type="button" class="link" onClick={compare}>
            What changed
          </button>
        )}
        {!isShown && (
          <button type="button" class="link" onClick={compareWithShown}>
            Compare with the shown version
          </button>
        )}
        {isWritable && tag === null && (
          <button type="button" class="link" onClick={() => setTag("")}>
            Tag
          </button>
        )}
        {isWritable && !isLatest && !isAsking && (
          <button type="button" class="link" onClick={() => setAsking(true)}>
            Restore
          </button>
        )}
      </div>
      {tag !== null && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault();
            change("createTag", { version: version.version, tag }).then(() => setTag(null));
          }}
        >
          <label>
            Name of the tag{" "}
            <input value={tag} required onInput={(event) => setTag(event.currentTarget.value)} />
          </label>
          <button type="submit" class="primary">
            Set
          </button>
          <button type="button" onClick={() => setTag(null)}>
            Cancel
          </button>
        </form>
      )}
      {isAsking && (
        <div class="inline" role="group" aria-label="Restore">
          Commit version {formatCount(version.version)} again as the newest version?
          <button
            type="button"
            class="primary"
            onClick={() => change("restore", { version: version.version }).then(() => setAsking(false))}
          >
            Restore
          </button>
          <button type="button" onClick={() => setAsking(false)}>
            Cancel
          </button>
        </div>
      )}
    </li>
  );
}

const Change = ({
  sign,
  count,
  kind,
}: {
  readonly sign: string;
  readonly count: number | undefined;
  readonly kind: string;
}) =>
  count === undefined || count === 0 ? null : (
    <span class={`change ${kind}`} title={`${formatCount(count)} rows ${kind}`}>
      {sign}
      {formatCount(count)}
    </span>
  );

const LANE = 34;
const STEP = 150;

/** Branches as lanes, each beginning at the version that it was made from. */
function BranchGraph({
  branches,
  current,
  choose,
}: {
  readonly branches: Readonly<Record<string, BranchContents>>;
  readonly current: string | undefined;
  choose(name: string | null): void;
}) {
  const names = Object.keys(branches).sort(
    (left, right) => branches[left].createAt - branches[right].createAt,
  );
  const lanes = new Map<string | undefined, number>([
    [undefined, 0],
    ...names.map((name, index): [string, number] => [name, index + 1]),
  ]);
  const moments = [...new Set(names.map((name) => branches[name].parentVersion))].sort(
    (left, right) => left - right,
  );
  const x = (version: number): number =>
    30 + (moments.indexOf(version) + 1) * Math.min(STEP, 520 / Math.max(1, moments.length));
  const y = (lane: number): number => 20 + lane * LANE;
  const width = 640;
  const height = 40 + names.length * LANE;
  return (
    <figure class="branches">
      <figcaption>Branches</figcaption>
      <div class="branch-graph">
        <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
          <path class="lane main" d={`M20 ${y(0)}H${width - 20}`} />
          {names.map((name) => {
            const { parentBranch, parentVersion } = branches[name];
            const from = y(lanes.get(parentBranch) ?? 0);
            const to = y(lanes.get(name) ?? 0);
            const start = x(parentVersion);
            return (
              <g key={name}>
                <path
                  class="lane"
                  d={`M${start} ${from}C${start + 20} ${from} ${start + 10} ${to} ${start + 34} ${to}H${width - 20}`}
                />
                <circle cx={start} cy={from} r="4" />
                <text x={start + 8} y={from - 6}>
                  {parentVersion}
                </text>
              </g>
            );
          })}
        </svg>
        <ul style={{ paddingTop: `${y(0) - 15}px` }}>
          {[null, ...names].map((name) => (
            <li key={name ?? ""} style={{ height: `${LANE}px` }}>
              <button
                type="button"
                class="chip"
                aria-pressed={(name ?? undefined) === current}
                onClick={() => choose(name)}
              >
                <bdi>{name ?? "main"}</bdi>
              </button>
              {name !== null && (
                <span class="hidden">
                  from version {branches[name].parentVersion} of {branches[name].parentBranch ?? "main"}
                </span>
              )}
            </li>
          ))}
        </ul>
      </div>
    </figure>
  );
}

interface DifferencesProps extends Pick<ViewProps, "choice"> {
  readonly pair: readonly [number, number];
  /** Key columns, with commas between them. Empty: the stable row id. */
  readonly keyColumns: string;
  setKeyColumns(columns: string): void;
  close(): void;
}

const SIGNS = { added: "+", removed: "−", changed: "~" } as const;

function Differences({ choice, pair: [from, to], keyColumns, setKeyColumns, close }: DifferencesProps) {
  const { id, branch } = choice;
  const asked = {
    id,
    ...(branch !== undefined && { branch }),
    ...{ from, to, limit: 200 },
    ...(keyColumns !== "" && { on: keyColumns.split(",").map((name) => name.trim()) }),
  };
  const loaded = useCall((signal) => call("differences", asked, signal), [asked]);
  const needsKey = keyColumns === "" && /no stable row ids/.test(loaded.error?.message ?? "");
  return (
    <section class="panel" aria-label={`Difference of versions ${from} and ${to}`}>
      <header>
        <h2>
          Version {formatCount(from)} → {formatCount(to)}
        </h2>
        <label>
          Rows are the same by
          <input
            placeholder={needsKey ? "key columns" : "row id"}
            value={keyColumns}
            onChange={(event) => setKeyColumns(event.currentTarget.value.trim())}
            title="Names of the key columns, with commas between them. Empty: the stable row id"
          />
        </label>
        <button type="button" class="icon" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {needsKey ? (
        <Empty title="Which columns identify a row?">
          <p>The table has no stable row ids. Name its key columns above, with commas between them.</p>
        </Empty>
      ) : (
        <Result of={loaded}>
          {({ columns, rows, hasMore }) =>
            rows.length === 0 ? (
              <p class="quiet">No row differs. The columns, indexes or files may.</p>
            ) : (
              <div class="table-box" tabIndex={0} role="region" aria-label="Rows that differ">
                <table class="plain hits">
                  <thead>
                    <tr>
                      <th scope="col">change</th>
                      {columns.map((column) => (
                        <th scope="col" key={column}>
                          <bdi>{visibleText(column)}</bdi>
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map(({ kind, cells, before }, row) => (
                      <tr key={row} class={kind}>
                        <td>
                          <span class={`change ${kind}`}>
                            {SIGNS[kind]} {kind}
                          </span>
                        </td>
                        {cells.map((cell, index) => {
                          const old = before?.[index] ?? null;
                          const isChanged = before !== null && JSON.stringify(old) !== JSON.stringify(cell);
                          return (
                            <td key={columns[index]} class={isChanged ? "differs" : ""}>
                              {isChanged && (
                                <del>
                                  <Cell cell={old} />
                                </del>
                              )}
                              <Cell cell={cell} />
                            </td>
                          );
                        })}
                      </tr>
                    ))}
                  </tbody>
                </table>
                {hasMore && (
                  <p class="quiet padded">Only the first {formatCount(rows.length)} rows are shown.</p>
                )}
              </div>
            )
          }
        </Result>
      )}
    </section>
  );
}
