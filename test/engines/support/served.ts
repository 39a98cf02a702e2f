/** A directory that our engine has open, and that our server serves to other engines. */

import { type Table, tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect } from "vitest";
import { makeTempDir } from "../../support/tempDir.js";
import { API_KEY, type Handler, startHandler } from "./handler.js";
import { sortedIdsOf } from "./rows.js";

export class ServedDirectory implements AsyncDisposable {
  readonly root: string;
  readonly namespace: DirectoryNamespace;
  readonly handler: Handler;
  #tables = 0;

  protected constructor(root: string, handler: Handler) {
    this.root = root;
    this.namespace = new DirectoryNamespace({ root, durability: "none" });
    this.handler = handler;
  }

  /** @param managedVersioning true if the server makes the versions */
  static async serve(managedVersioning = true): Promise<ServedDirectory> {
    const root = await makeTempDir();
    return new ServedDirectory(root, await startHandler(root, { managedVersioning }));
  }

  freshName(): string {
    return `t${this.#tables++}`;
  }

  async ids(id: readonly string[]): Promise<number[]> {
    const table = this.namespace.table([...id]);
    return sortedIdsOf(await table.scan({ columns: ["id"] }).toArrow());
  }

  async insertByRest(id: readonly string[], rows: Table): Promise<void> {
    const response = await fetch(`${this.handler.url}/v1/table/${id.join("$")}/insert?mode=append`, {
      method: "POST",
      headers: { "x-api-key": API_KEY, "content-type": "application/vnd.apache.arrow.stream" },
      body: tableToIPC(rows, "stream") as BodyInit,
    });
    expect(response.status, await response.text()).toBe(200);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.namespace.close();
    await this.handler[Symbol.asyncDispose]();
  }
}
