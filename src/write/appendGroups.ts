/**
 * Joins appends to one table that wait for each other in this process, so that one commit makes them visible:
 *
 *     append A   commits at once ──────┐
 *     append B   waits for A ──────────┤
 *     append C   waits for A ──────────┴─ B and C commit together, as one transaction
 *
 * An append that meets no other one commits as quickly as before. Each append has its own rows, checks and
 * outcome. If a common commit fails, each of its appends commits by itself, so that the fault of one concerns
 * no other.
 */

import { whenAborted } from "../async/abort.js";
import { Append, type DataFragment, type Transaction } from "../format/table.js";
import { PublishUncertainError } from "../io/publish.js";
import { commitTransaction } from "../table/commit/commit.js";
import { newTransaction } from "../table/commit/transaction.js";
import { anchorOf, requireAnchor } from "../table/versions/identity.js";
import type { OpenLatest, OpenVersion } from "../table/versions/tableAt.js";

/** Rows of an append that are written and not committed. */
export interface PendingAppend {
  /** Version that the append was planned on. */
  readonly base: OpenLatest;
  readonly fragments: readonly DataFragment[];
  /** Called under the table's lock, right before the version is published. If it throws, the append fails. */
  readonly verify: () => Promise<void>;
  /** Ends the wait for the commits before. A commit that has begun is completed. */
  readonly signal: AbortSignal | undefined;
}

export interface CommittedAppend {
  readonly committed: OpenVersion;
  readonly transaction: Transaction;
}

interface Member {
  readonly append: PendingAppend;
  resolve(committed: CommittedAppend): void;
  reject(reason: unknown): void;
  /** Called when the member's commit begins. From then on, its signal has no effect. */
  endWait?: (() => void) | undefined;
}

/** The appends of one process that may be committed together. */
export class AppendGroups {
  /** Appends that wait for a current commit, by the directory of their table or branch. */
  readonly #waiting = new Map<string, Member[]>();

  /**
   * Commits an append, alone or together with others.
   * @throws errors of `commitTransaction` and of the append's own `verify`; the reason of its signal
   */
  commit(append: PendingAppend): Promise<CommittedAppend> {
    return new Promise((resolve, reject) => {
      const member: Member = { append, resolve, reject };
      const { root } = append.base.table;
      const waiting = this.#waiting.get(root);
      if (waiting === undefined) void this.#commitInTurn(root, member);
      else join(waiting, member);
    });
  }

  async #commitInTurn(root: string, first: Member): Promise<void> {
    const waiting = [first];
    this.#waiting.set(root, waiting);
    while (waiting.length > 0) await commitMembers(waiting.splice(0));
    this.#waiting.delete(root);
  }
}

/** Adds a member to those that wait. Its signal takes it out again. */
function join(waiting: Member[], member: Member): void {
  const { signal } = member.append;
  waiting.push(member);
  member.endWait =
    signal &&
    whenAborted(signal, () => {
      waiting.splice(waiting.indexOf(member), 1);
      member.reject(signal.reason);
    });
}

/** Commits all members, and tells each its outcome. Never rejects. */
async function commitMembers(members: readonly Member[]): Promise<void> {
  for (const { endWait } of members) endWait?.();
  if (members.length > 1 && (await commitTogether(members))) return;
  for (const { append, resolve, reject } of members) await commitAppends([append]).then(resolve, reject);
}

/** Makes one commit of several members; returns false if it failed and has changed nothing. */
async function commitTogether(members: readonly Member[]): Promise<boolean> {
  try {
    const committed = await commitAppends(members.map(({ append }) => append));
    for (const { resolve } of members) resolve(committed);
    return true;
  } catch (error) {
    if (!(error instanceof PublishUncertainError)) return false;
    // The version may exist. A second commit could add the rows twice.
    for (const { reject } of members) reject(error);
    return true;
  }
}

/** Commits appends as one transaction, planned on the oldest of their versions. */
async function commitAppends(appends: readonly PendingAppend[]): Promise<CommittedAppend> {
  const { base } = appends.reduce((oldest, each) =>
    each.base.version < oldest.base.version ? each : oldest,
  );
  const fragments = appends.flatMap((append) => append.fragments);
  const transaction = newTransaction(base.version, "append", Append.create({ fragments }));
  const committed = await commitTransaction(base, transaction, {
    signal: appends.length === 1 ? appends[0].signal : undefined,
    async verify() {
      for (const append of appends) {
        await append.verify();
        // The table that one append was planned on may have been replaced by that of another.
        const isSame = append.base.path === base.path && append.base.file.isCopyOf(base.file);
        if (!isSame) await requireAnchor(base.table, anchorOf(append.base));
      }
    },
  });
  return { committed, transaction };
}
