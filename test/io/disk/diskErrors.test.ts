import { describe, expect, it } from "vitest";
import {
  InternalError,
  InvalidTableStateError,
  PermissionDeniedError,
  ServiceUnavailableError,
  UnsupportedError,
} from "../../../src/errors.js";
import { platformError, tellFailure } from "../../../src/io/disk/diskErrors.js";

const refused = (code: string, syscall?: string) =>
  Object.assign(new Error(`${code}: refused, ${syscall} '/home/host/secret/t.lance'`), {
    code,
    ...(syscall !== undefined && { syscall, path: "/home/host/secret/t.lance" }),
  });

describe("an error for a refused call", () => {
  it.each([
    [
      ["ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EIO", "ENOMEM", "EBUSY", "ETIMEDOUT"],
      ServiceUnavailableError,
    ],
    [["EACCES", "EPERM", "EROFS"], PermissionDeniedError],
    [["ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG"], InvalidTableStateError],
    [["ENOENT", "EXDEV", "EINVAL"], InternalError],
  ] as const)("hides the directories of its path: %s", (codes, kind) => {
    for (const code of codes) {
      const cause = refused(code, "open");
      const error = platformError(cause);
      expect(error).toBeInstanceOf(kind);
      expect(error?.cause).toBe(cause);
      expect(error?.message).toContain(`(${code}: open t.lance)`);
      expect(error?.message).not.toContain("secret");
    }
  });

  it("keeps its code if a host's disk reports nothing else", () => {
    expect(platformError(refused("EIO"))?.message).toBe("the disk: reading or writing failed (EIO)");
    expect(platformError(refused("ERR_INVALID_ARG_TYPE"))).toBe(null);
  });

  it("stays unchanged if it has a class of its own", () => {
    const error = Object.assign(new UnsupportedError("no"), { code: 0 });
    expect([platformError(error), tellFailure(error), tellFailure(new TypeError("odd"))]).toEqual([
      null,
      "no",
      "odd",
    ]);
  });
});
