import { describe, expect, it } from "vitest";
import { concatBytes } from "../../../src/bytes/concat.js";
import { CorruptFileError } from "../../../src/errors.js";
import { Transaction } from "../../../src/format/table.js";
import {
  decodeTransactionFile,
  encodeTransactionFile,
  newTransaction,
} from "../../../src/table/commit/transaction.js";

describe("a transaction's file", () => {
  const transaction = newTransaction(7, "delete", {
    updatedFragments: [],
    deletedFragmentIds: [4],
    predicate: "id = 1",
  });
  const message = Transaction.encode(transaction);
  const file = concatBytes(encodeTransactionFile(message));

  it("is read with and without a checksum, which is not part of the transaction", () => {
    for (const bytes of [message, file]) {
      expect(Transaction.encode(decodeTransactionFile(bytes, "t.txn"))).toEqual(message);
    }
  });

  it("is the same message for readers that ignore the checksum", () => {
    expect(Transaction.decode(file, { path: "t.txn", byteOffset: 0 }).delete?.predicate).toBe("id = 1");
  });

  it("is refused or whole with any bit flipped", () => {
    for (let bit = 0; bit < file.length * 8; bit++) {
      const flipped = file.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      try {
        const read = decodeTransactionFile(flipped, "t.txn");
        expect({ ...read, unknown: undefined }, `bit ${bit}`).toEqual({ ...transaction, unknown: undefined });
      } catch (error) {
        expect(error, `bit ${bit}`).toBeInstanceOf(CorruptFileError);
      }
    }
  });
});
