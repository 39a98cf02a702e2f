import { useEffect, useState } from "preact/hooks";
import { App } from "../App.tsx";
import { connect } from "../calls.ts";
import { Busy } from "../parts.tsx";
import { formatRoute } from "../state.ts";
import { openDropped } from "./folders.ts";
import { inPageTransport } from "./inPageTransport.ts";
import { Opener } from "./Opener.tsx";
import type { TableSource } from "./tableSource.ts";

interface StandalonePageProps {
  /** Returns the tables that the address of the page names, or null. */
  readonly begin: () => Promise<TableSource | null>;
}

/** The inspector without a server: asks for tables, and shows them. */
export function StandalonePage({ begin }: StandalonePageProps) {
  const [source, setSource] = useState<TableSource | null>(null);
  const [turn, setTurn] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isOver, setOver] = useState(false);
  const open = async (opening: Promise<TableSource | null>, keepsRoute = false) => {
    setBusy(true);
    try {
      const opened = await opening;
      if (opened !== null) {
        const { table } = opened;
        connect(inPageTransport(opened));
        const isNew = !keepsRoute || location.hash.length <= "#/".length;
        if (isNew) location.hash = formatRoute({ id: table === null ? null : [table], view: "rows" });
        setSource(opened);
        setTurn((before) => before + 1);
      }
      setError(null);
    } catch (reason) {
      setSource(null);
      setError(reason as Error);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    open(begin(), true);
  }, []);
  useDrops(setOver, (items) => open(openDropped(items)));
  return (
    <>
      {isBusy ? (
        <Busy label="Opening" />
      ) : source === null ? (
        <Opener error={error} open={open} fail={setError} />
      ) : (
        <App key={turn}>
          <a class="other-tables" href={`${location.pathname}?root=`}>
            Open other tables
          </a>
        </App>
      )}
      {isOver && <div class="drop-target">Drop a folder to open it</div>}
    </>
  );
}

/** Takes folders that are dropped anywhere on the page. */
function useDrops(setOver: (isOver: boolean) => void, drop: (items: DataTransferItemList) => void): void {
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const take = (event: DragEvent) => {
      setOver(false);
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      drop(event.dataTransfer.items);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", take);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", take);
    };
  }, []);
}
