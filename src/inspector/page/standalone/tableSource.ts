/** Tables that the page shows: those below an address, or those of a folder. */

import { DirectoryNamespace } from "../../../DirectoryNamespace.ts";
import { httpDisk } from "../../../disks/http/httpDisk.ts";
import { UnsupportedError } from "../../../errors.ts";
import type { DiskImplementation } from "../../../io/disk/disk.ts";
import type { InspectedNamespace } from "../../calls/context.ts";

/** A namespace, with what the page says about it. */
export interface TableSource {
  readonly title: string;
  readonly namespace: InspectedNamespace;
  /** Name of the table that the user chose; null if the user chose a directory of tables. */
  readonly table: string | null;
  /** Sentence for people whose browser gets no answer from the host. */
  readonly hint?: string;
}

/** Address of a directory of tables, and the name of a table in it. */
export interface TableAddress {
  readonly root: URL;
  readonly table: string | null;
}

/** End of the name of a table's directory. */
const TABLE_SUFFIX = ".lance";

/** Returns the name of a table by that of its directory. Null for other directories. */
export const tableNameOf = (directory: string): string | null =>
  directory.endsWith(TABLE_SUFFIX) && directory.length > TABLE_SUFFIX.length
    ? directory.slice(0, -TABLE_SUFFIX.length)
    : null;

/**
 * Reads an address, which may be relative to the page. An address of a table's directory names its parent.
 * @throws Error with a message for people
 */
export function parseAddress(text: string): TableAddress {
  const url = urlOf(text.trim());
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Error("An address begins with https: or http:. Drop a folder of this computer on the page.");
  }
  if (url.hostname.startsWith("[")) {
    throw new Error("The policy of the page cannot name an IPv6 number. Use the name of the host.");
  }
  url.hash = "";
  url.pathname = url.pathname.replace(/\/*$/, "/");
  const names = url.pathname.split("/");
  const table = tableNameOf(decodeName(names.at(-2) ?? ""));
  if (table !== null) url.pathname = names.slice(0, -2).concat("").join("/");
  return { root: url, table };
}

function urlOf(text: string): URL {
  try {
    return new URL(text, document.baseURI);
  } catch (error) {
    throw new Error(`${text.slice(0, 200)} is not an address.`, { cause: error });
  }
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // A percent sign that encodes nothing.
  }
}

const FOREIGN_HINT =
  "The host may be away, or may not let pages of other addresses read: it must send Access-Control-Allow-Origin.";

/** Opens the tables below an address. */
export function openAddress({ root, table }: TableAddress): TableSource {
  const title = `${root.host}${root.pathname}`.replace(/\/$/, "");
  const source = openDisk(httpDisk(root), title, table);
  return root.origin === location.origin ? source : { ...source, hint: FOREIGN_HINT };
}

/** Opens the tables of a disk. */
export function openDisk(disk: DiskImplementation, title: string, table: string | null): TableSource {
  const namespace = new DirectoryNamespace({ root: "/", disk });
  return { title, table, namespace: table === null ? namespace : withTable(namespace, table) };
}

/** Lists the table that the user named if the host has no published index, and so can't list tables. */
function withTable(namespace: DirectoryNamespace, table: string): InspectedNamespace {
  const listAllTables: InspectedNamespace["listAllTables"] = async (request) => {
    try {
      return await namespace.listAllTables(request);
    } catch (error) {
      if (error instanceof UnsupportedError) return { tables: [table] };
      throw error;
    }
  };
  return new Proxy(namespace, {
    get(target, name) {
      if (name === "listAllTables") return listAllTables;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
