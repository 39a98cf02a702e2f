/**
 * Defines transactions: the changes of one commit, independent of the version that it lands on. A transaction
 * is stored twice, inside its manifest and as a file in `_transactions`. Either suffices to read it. The file
 * consists of the message and a field that other readers ignore: its check block (bytes/checkBlock.ts).
 */

import { CHECK_BLOCK_BYTES, lookAtCheckBlock, makeCheckBlock } from "../../bytes/checkBlock.js";
import { CorruptFileError } from "../../errors.js";
import { Transaction } from "../../format/table.js";
import type { Disk } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";
import type { ManifestFile } from "../versions/manifest.js";
import { isFileName, transactionFileName, transactionsDirectory } from "../versions/paths.js";
import type { VersionsAt } from "../versions/versions.js";

/** The operations, by their members of {@link Transaction}. */
const OPERATION_KINDS = [
  "append",
  "delete",
  "overwrite",
  "createIndex",
  "rewrite",
  "merge",
  "restore",
  "reserveFragments",
  "update",
  "project",
  "updateConfig",
  "dataReplacement",
  "updateMemWalState",
  "clone",
  "updateBases",
] as const;

export type OperationKind = (typeof OPERATION_KINDS)[number];

export type Operation =
  | {
      [Kind in OperationKind]: { readonly kind: Kind; readonly value: NonNullable<Transaction[Kind]> };
    }[OperationKind]
  | { readonly kind: "unknown" };

/** Returns the operation; `unknown` if this build does not know it, or there is none. */
export function operationOf(transaction: Transaction): Operation {
  for (const kind of OPERATION_KINDS) {
    const value = transaction[kind];
    if (value !== undefined) return { kind, value } as Operation;
  }
  return { kind: "unknown" };
}

/** Returns the name of an operation as the reference spells it. */
export const operationName = ({ kind }: Operation): string => kind[0].toUpperCase() + kind.slice(1);

/**
 * Makes a new transaction with its own identity.
 * @param readVersion version that the change was planned on; 0 for a new table
 */
export function newTransaction<Kind extends OperationKind>(
  readVersion: number,
  kind: Kind,
  value: NonNullable<Transaction[Kind]>,
): Transaction {
  return Transaction.create({ readVersion, uuid: crypto.randomUUID(), [kind]: value });
}

/** Key of the commit message in the properties of a transaction. The reference uses the same key. */
export const COMMIT_MESSAGE_PROPERTY = "__lance_commit_message";

/** Key of the number of rows whose values an update or merge replaced. Only Tiltyard writes it. */
export const ROWS_CHANGED_PROPERTY = "tiltyard.rows_changed";

/** Key that marks a merge which added rows for keys that the table lacked. Only Tiltyard writes it. */
export const ADDS_MISSING_PROPERTY = "tiltyard.adds_missing";

/** Returns a transaction with one more property, unless the value is undefined. */
export function withProperty(
  transaction: Transaction,
  key: string,
  value: string | number | undefined,
): Transaction {
  if (value === undefined) return transaction;
  const transactionProperties = new Map(transaction.transactionProperties).set(key, String(value));
  return { ...transaction, transactionProperties };
}

/**
 * Returns true if commits to a disk store their transactions as files too. Only other engines, in releases
 * that read no transactions of manifests, need these files.
 */
export const storesTransactionFiles = ({ isPrivate }: Disk): boolean => isPrivate !== true;

/**
 * Returns the name of a transaction's file. It contains the version first read, even if the transaction is
 * committed over a later one.
 */
export const fileNameOf = (transaction: Transaction): string =>
  transactionFileName(transaction.readVersion, transaction.uuid);

/** Maximum size in bytes of a transaction file that is read. */
const MAX_TRANSACTION_BYTES = 2 ** 30;

/**
 * Reads the transaction that made a version: the inline one, else the file that its manifest names; null if
 * both are missing.
 * @param maxBytes maximum size of a file that is read
 * @throws CorruptFileError, also for a larger file
 */
export async function readTransaction(
  table: VersionsAt,
  file: ManifestFile,
  maxBytes = MAX_TRANSACTION_BYTES,
): Promise<Transaction | null> {
  if (file.transaction !== null) return file.transaction;
  const name = file.head.transactionFile;
  if (name === "") return null;
  if (!isFileName(name)) {
    const shown = JSON.stringify(name.slice(0, 200));
    throw new CorruptFileError(file.path, 0, `${shown} is not the name of a transaction's file`);
  }
  const path = join(transactionsDirectory(table.root), name);
  const bytes = await table.disk.readFile(path, maxBytes);
  return bytes === null ? null : decodeTransactionFile(bytes, path);
}

/** Bytes before the check block: the tag of field 1000 with a length, and the length of the block. */
const CHECK_FIELD = Uint8Array.of(0xc2, 0x3e, CHECK_BLOCK_BYTES);

/**
 * Encodes the file of a transaction, as pieces to write one after the other.
 * @param message the encoded transaction
 */
export const encodeTransactionFile = (message: Uint8Array): Uint8Array[] => [
  message,
  CHECK_FIELD,
  makeCheckBlock(message, CHECK_FIELD),
];

/** @throws CorruptFileError */
export function decodeTransactionFile(file: Uint8Array, path: string): Transaction {
  const blockStart = file.length - CHECK_BLOCK_BYTES;
  const block = lookAtCheckBlock(file, blockStart);
  if (block === "damaged") throw new CorruptFileError(path, blockStart, "the transaction fails its checksum");
  const message = block === "intact" ? file.subarray(0, blockStart - CHECK_FIELD.length) : file;
  return Transaction.decode(message, { path, byteOffset: 0 });
}
