/** Collects damages that a verification finds, and turns errors of readers into damages. */

import { CorruptFileError, messageOf, NamespaceError, UnsupportedError } from "../../errors.js";
import { codeOf } from "../../io/disk/errno.js";
import type { DamageKind, TableDamage } from "../../namespace/storage.js";

/** Number of damages that are listed. */
const MAX_LISTED = 1000;
const MAX_UNCHECKED = 100;

/** Facts about the part that is checked. */
export interface CheckedPart
  extends Pick<TableDamage, "version" | "fragmentId" | "columns" | "indexName" | "remedy"> {
  readonly kind: DamageKind;
  readonly path: string;
}

export class Damages {
  readonly listed: TableDamage[] = [];
  readonly unchecked: string[] = [];
  count = 0;
  /** Positions in the list by what and where a damage is; -1 for one that is not listed. */
  readonly #positions = new Map<string, number>();

  /** Adds a damage. If the same one was found before, it only gets further columns. */
  add(damage: TableDamage): void {
    const key = `${damage.kind}\0${damage.path}\0${damage.message}`;
    const position = this.#positions.get(key);
    if (position !== undefined) {
      const same = this.listed[position];
      const columns = new Set([...(same?.columns ?? []), ...(damage.columns ?? [])]);
      if (same !== undefined && columns.size > 0)
        this.listed[position] = { ...same, ...damage, columns: [...columns] };
      return;
    }
    this.count++;
    const isListed = this.listed.length < MAX_LISTED;
    this.#positions.set(key, isListed ? this.listed.length : -1);
    if (isListed) this.listed.push(damage);
  }

  /** Notes what this release cannot check. */
  skip(text: string): void {
    if (this.unchecked.length < MAX_UNCHECKED && !this.unchecked.includes(text)) this.unchecked.push(text);
  }

  /**
   * Does a check. An error about the files becomes a damage.
   * @returns null after a damage, or if this release cannot check the part
   * @throws other errors, such as the signal's reason
   */
  async attempt<Result>(part: CheckedPart, check: () => Promise<Result>): Promise<Result | null> {
    let result: Result | null = null;
    await this.outcomeOf(part, async () => {
      result = await check();
    });
    return result;
  }

  /** Does a check as {@link attempt}, and tells damage apart from what this release cannot check. */
  async outcomeOf(part: CheckedPart, check: () => Promise<void>): Promise<"sound" | "damaged" | "unchecked"> {
    try {
      await check();
      return "sound";
    } catch (error) {
      if (error instanceof UnsupportedError) {
        this.skip(messageOf(error));
        return "unchecked";
      }
      const damage = damageOf(error, part);
      if (damage === null) throw error;
      this.add(damage);
      return "damaged";
    }
  }
}

/** Codes of system errors that mean that a file cannot be read. */
const UNREADABLE = ["ENOENT", "EIO", "EISDIR", "ENOTDIR", "EACCES", "EPERM"];

function damageOf(error: unknown, part: CheckedPart): TableDamage | null {
  if (error instanceof CorruptFileError) {
    const { path, byteOffset, message } = error;
    const isMissing = message.includes("is missing");
    return { ...part, path, kind: isMissing ? "missingFile" : part.kind, message, byteOffset };
  }
  const code = codeOf(error);
  if (code === "ENOENT") return { ...part, kind: "missingFile", message: `${part.path} does not exist` };
  if (code !== undefined && UNREADABLE.includes(code)) return { ...part, message: messageOf(error) };
  // Other errors of the engine are its own; a table whose numbers do not fit is told as such.
  if (error instanceof NamespaceError && error.type === "InvalidTableState") {
    return { ...part, message: error.message };
  }
  return null;
}
