import { render } from "preact";
import { INDEX_NAME } from "../../../disks/http/publishedIndex.ts";
import { limitRequests } from "./policy.ts";
import { StandalonePage } from "./StandalonePage.tsx";
import { openAddress, parseAddress, type TableAddress, type TableSource } from "./tableSource.ts";
import "../styles.css";

/**
 * Opens the tables that the query names. Without a query, opens those beside the page, if they are published.
 * Limits the requests of the page first.
 */
async function begin(): Promise<TableSource | null> {
  const text = new URLSearchParams(location.search).get("root");
  if (text !== null && text.trim() !== "") {
    return openLimited(text);
  }
  if (text !== null || !location.protocol.startsWith("http")) {
    limitRequests(null);
    return null;
  }
  const beside = parseAddress("./");
  limitRequests(beside.root);
  const response = await fetch(new URL(INDEX_NAME, beside.root), { method: "HEAD" }).catch(() => null);
  return response?.ok ? openAddress(beside) : null;
}

function openLimited(text: string): TableSource {
  let address: TableAddress | null = null;
  try {
    address = parseAddress(text);
  } finally {
    limitRequests(address?.root ?? null);
  }
  return openAddress(address);
}

render(<StandalonePage begin={begin} />, document.getElementById("app") as HTMLElement);
