import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { TableAnswer } from "../calls/answers.ts";
import { type CallError, call, type TableChoice } from "./calls.ts";
import { formatBytes, formatCount } from "./format.ts";
import icon from "./icon.svg";
import { Empty, Failure, Result } from "./parts.tsx";
import { type Route, useCall, useRoute, VIEWS, type View, withoutRow } from "./state.ts";
import { TableTree } from "./TableTree.tsx";
import { type Theme, useTheme } from "./theme.ts";
import { IndexesView } from "./views/IndexesView.tsx";
import { JobsView } from "./views/JobsView.tsx";
import { MapView } from "./views/MapView.tsx";
import { RowsView } from "./views/RowsView.tsx";
import { SchemaView } from "./views/SchemaView.tsx";
import { SearchView } from "./views/SearchView.tsx";
import { StorageView } from "./views/StorageView.tsx";
import { VersionsView } from "./views/VersionsView.tsx";

const TITLES: Readonly<Record<View, string>> = {
  rows: "Rows",
  schema: "Schema",
  search: "Search",
  map: "Map",
  versions: "Versions",
  storage: "Storage",
  indexes: "Indexes",
  jobs: "Jobs",
};

/** Properties of each view of a table. */
export interface ViewProps {
  readonly choice: TableChoice & { readonly version: number };
  readonly table: TableAnswer;
  readonly route: Route;
  readonly isWritable: boolean;
  go(route: Route): void;
  reload(): void;
}

const PARTS: Readonly<Record<View, (props: ViewProps) => preact.JSX.Element>> = {
  rows: RowsView,
  schema: SchemaView,
  search: SearchView,
  map: MapView,
  versions: VersionsView,
  storage: StorageView,
  indexes: IndexesView,
  jobs: JobsView,
};

/** The page of a namespace. Its parent may put something below the list of tables. */
export function App({ children }: { readonly children?: ComponentChildren }) {
  const [route, go] = useRoute();
  const [isTreeOpen, setTreeOpen] = useState(false);
  const about = useCall((signal) => call("about", {}, signal), []);
  const title = about.value?.title ?? "Tiltyard";
  useEffect(() => {
    document.title = route.id === null ? title : `${route.id.join(" / ")} · ${title}`;
  }, [title, route.id]);
  const choose = (id: readonly string[]) => {
    setTreeOpen(false);
    go({ id, view: route.view });
  };
  const refused = about.error as CallError | null;
  return (
    <div class="app">
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        Skip to content
      </a>
      <nav class={isTreeOpen ? "sidebar open" : "sidebar"} aria-label="Tables">
        <div class="brand">
          <img src={icon} alt="" width="22" height="22" />
          <strong dir="auto" title={title}>
            {title}
          </strong>
          <ThemeButton />
        </div>
        {refused === null && <TableTree chosen={route.id} choose={choose} />}
        {children}
      </nav>
      {isTreeOpen && (
        <button
          type="button"
          class="scrim"
          aria-label="Close the list of tables"
          onClick={() => setTreeOpen(false)}
        />
      )}
      <main id="content" tabIndex={-1}>
        <button
          type="button"
          class="menu"
          aria-expanded={isTreeOpen}
          onClick={() => setTreeOpen(!isTreeOpen)}
        >
          ☰ Tables
        </button>
        {refused !== null ? (
          <Failure error={refused} retry={about.reload} />
        ) : route.id === null ? (
          <Empty title="Choose a table">
            <p>The list on the left has every table below this root. Type to search it.</p>
          </Empty>
        ) : (
          <TablePage
            key={route.id.join("$")}
            route={{ ...route, id: route.id }}
            go={go}
            isWritable={about.value?.isWritable ?? false}
          />
        )}
      </main>
    </div>
  );
}

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { auto: "dark", dark: "light", light: "auto" };
const THEME_MARK: Readonly<Record<Theme, string>> = { auto: "◐", dark: "☾", light: "☀" };

export function ThemeButton() {
  const [theme, setTheme] = useTheme();
  const label = `Colours: ${theme === "auto" ? "those of the system" : theme}`;
  return (
    <button
      type="button"
      class="icon"
      aria-label={label}
      title={label}
      onClick={() => setTheme(NEXT_THEME[theme])}
    >
      {THEME_MARK[theme]}
    </button>
  );
}

interface TablePageProps {
  readonly route: Route & { readonly id: readonly string[] };
  readonly isWritable: boolean;
  go(route: Route): void;
}

function TablePage({ route, go, isWritable }: TablePageProps) {
  const { id, branch, version } = route;
  const asked = { id, ...(branch !== undefined && { branch }), ...(version !== undefined && { version }) };
  const loaded = useCall((signal) => call("table", asked, signal), [asked]);
  const name = id.at(-1) ?? "";
  return (
    <>
      <header class="table-header">
        <div class="title">
          {id.length > 1 && (
            <span class="quiet" dir="auto">
              {id.slice(0, -1).join(" / ")} /
            </span>
          )}
          <h1 dir="auto" title={name}>
            {name}
          </h1>
          <VersionChip route={route} table={loaded.value} go={go} />
        </div>
        {loaded.value && <Facts table={loaded.value} />}
        <Tabs route={route} go={go} />
      </header>
      <section class="view" role="tabpanel" id="view" aria-labelledby={`tab-${route.view}`}>
        <Result of={loaded}>
          {(table) => <TableView {...{ table, route, go, isWritable, asked }} reload={loaded.reload} />}
        </Result>
      </section>
    </>
  );
}

function TableView({
  table,
  route,
  asked,
  ...rest
}: Omit<ViewProps, "choice"> & { readonly asked: TableChoice }) {
  const { version } = table.description;
  const choice = useMemo(() => ({ ...asked, version: version ?? 0 }), [JSON.stringify(asked), version]);
  if (version === undefined) {
    return (
      <Empty title="This table has no rows yet">
        <p>Its name is reserved, and the first insert creates its first version.</p>
      </Empty>
    );
  }
  const Part = PARTS[route.view];
  return <Part {...{ ...rest, table, route, choice }} />;
}

function VersionChip({
  route,
  table,
  go,
}: {
  readonly route: Route;
  readonly table: TableAnswer | null;
  go(route: Route): void;
}) {
  const version = route.version ?? table?.description.version;
  if (version === undefined) return null;
  const { version: _, ...latest } = route;
  return (
    <span class={route.version === undefined ? "chip" : "chip past"}>
      {route.branch !== undefined && <span dir="auto">{route.branch} · </span>}
      version {formatCount(version)}
      {route.version === undefined ? (
        " (latest)"
      ) : (
        <button type="button" class="link" onClick={() => go(latest)}>
          back to the latest
        </button>
      )}
    </span>
  );
}

const Facts = ({ table: { stats, indexes, description } }: { readonly table: TableAnswer }) => (
  <p class="facts">
    <span>{formatCount(stats.numRows)} rows</span>
    <span>{formatCount(description.schema?.fields.length ?? 0)} columns</span>
    <span>{formatBytes(stats.totalBytes)}</span>
    <span>
      {formatCount(stats.fragmentStats.numFragments)} fragment
      {stats.fragmentStats.numFragments === 1 ? "" : "s"}
    </span>
    <span>
      {formatCount(indexes.length)} index{indexes.length === 1 ? "" : "es"}
    </span>
  </p>
);

function Tabs({ route, go }: { readonly route: Route; go(route: Route): void }) {
  useEffect(() => {
    document.getElementById(`tab-${route.view}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [route.view]);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const index = (VIEWS.indexOf(route.view) + step + VIEWS.length) % VIEWS.length;
    go({ ...withoutRow(route), view: VIEWS[index] });
    document.getElementById(`tab-${VIEWS[index]}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views of the table" onKeyDown={move}>
      {VIEWS.map((view) => (
        <button
          type="button"
          role="tab"
          key={view}
          id={`tab-${view}`}
          aria-selected={view === route.view}
          aria-controls="view"
          tabIndex={view === route.view ? 0 : -1}
          onClick={() => go({ ...withoutRow(route), view })}
        >
          {TITLES[view]}
        </button>
      ))}
    </div>
  );
}
