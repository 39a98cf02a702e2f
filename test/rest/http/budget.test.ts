/** Memory that requests share: who gets memory, who waits, and who is refused. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BudgetShare, FREE_BYTES, MemoryBudget } from "../../../src/rest/http/budget.js";
import { succeeds } from "../../support/outcomes.js";

const never = new AbortController().signal;
const budget = (
  maxBytes: number,
  maxUnauthenticatedBytes = maxBytes,
  waitMs = 60_000,
  maxAloneBytes = Number.POSITIVE_INFINITY,
) => new MemoryBudget({ maxBytes, maxAloneBytes, maxUnauthenticatedBytes, waitMs });
const open = (from: MemoryBudget, isUnauthenticated = false) => from.open(never, isUnauthenticated);

/** True if the account has the memory already. */
async function settled(waiting: Promise<void> | undefined): Promise<boolean> {
  if (waiting === undefined) return true;
  const unsettled = Symbol();
  return (await Promise.race([waiting, Promise.resolve(unsettled)])) !== unsettled;
}

describe("a memory account", () => {
  it("an account holds the free bytes whatever the others hold", () => {
    const shared = budget(1000);
    const [large, small] = [open(shared), open(shared)];
    expect(large.hold("a", FREE_BYTES + 1000)).toBeUndefined();
    expect(small.hold("a", FREE_BYTES)).toBeUndefined();
    expect(small.spareBytes("a")).toBe(FREE_BYTES);
    expect(shared.heldBytes).toBe(1000);
  });

  it("an account waits for the others and continues when they release memory", async () => {
    const shared = budget(1000);
    const [first, second] = [open(shared), open(shared)];
    first.note("a", FREE_BYTES + 600);
    const waiting = second.hold("a", FREE_BYTES + 500);
    expect(await settled(waiting)).toBe(false);
    expect(shared.heldBytes).toBe(600);
    first.note("a", FREE_BYTES + 500);
    await waiting;
    expect(shared.heldBytes).toBe(1000);
    second.close();
    second.close();
    second.note("a", 10 ** 6);
    first.close();
    expect(shared.heldBytes).toBe(0);
  });

  it("a single account gets all that it needs", () => {
    const alone = open(budget(1000));
    expect(alone.hold("a", 10 ** 9)).toBeUndefined();
    expect(alone.hold("b", 10 ** 9)).toBeUndefined();
  });

  it("an account does not exceed the limit of one request, and does not wait for more", async () => {
    const shared = budget(1000, 1000, 60_000, FREE_BYTES + 2000);
    const [alone, second] = [open(shared), open(shared)];
    expect(alone.hold("a", FREE_BYTES + 2000)).toBeUndefined();
    await expect(alone.hold("a", FREE_BYTES + 2001)).rejects.toMatchObject({ status: 400 });
    await expect(second.hold("a", FREE_BYTES + 2001)).rejects.toMatchObject({ status: 400 });
  });

  it("an account waits for its turn unless it already holds memory", async () => {
    const shared = budget(1000);
    const [holder, secondHolder, early, late] = [open(shared), open(shared), open(shared), open(shared)];
    holder.note("a", FREE_BYTES + 400);
    secondHolder.note("a", FREE_BYTES + 400);
    const first = early.hold("a", FREE_BYTES + 900);
    const second = late.hold("a", FREE_BYTES + 100);
    expect(await settled(first)).toBe(false);
    expect(await settled(second)).toBe(false);
    expect(holder.hold("a", FREE_BYTES + 500)).toBeUndefined();
    holder.close();
    expect(await settled(second)).toBe(false);
    secondHolder.close();
    await first;
    await second;
  });

  it("an account that waits too long is refused with 503", async () => {
    const shared = budget(1000, 1000, 20);
    const holder = open(shared);
    holder.note("a", FREE_BYTES + 1000);
    await expect(open(shared).hold("a", FREE_BYTES + 1)).rejects.toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
    });
    holder.close();
    expect(open(shared).hold("a", FREE_BYTES + 1000)).toBeUndefined();
  });

  it("an account is refused at once if all holders of memory wait", async () => {
    const shared = budget(1000);
    const [one, two] = [open(shared), open(shared)];
    one.note("a", FREE_BYTES + 500);
    two.note("a", FREE_BYTES + 500);
    const first = one.hold("a", FREE_BYTES + 600);
    await expect(two.hold("a", FREE_BYTES + 600)).rejects.toMatchObject({ status: 503 });
    two.close();
    await first;
  });

  it("an account waits no longer than its request", async () => {
    const shared = budget(1000);
    open(shared).note("a", FREE_BYTES + 1000);
    const client = new AbortController();
    const waiting = shared.open(client.signal, false).hold("a", FREE_BYTES + 1);
    const reason = new Error("gone");
    client.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

describe("unauthenticated requests", () => {
  it("unauthenticated requests share a part and delay nobody else", async () => {
    const shared = budget(1000, 500);
    const [unauthenticated, second, caller] = [open(shared, true), open(shared, true), open(shared)];
    expect(unauthenticated.hold("a", FREE_BYTES + 400)).toBeUndefined();
    const waiting = second.hold("a", FREE_BYTES + 200);
    expect(await settled(waiting)).toBe(false);
    expect(caller.spareBytes("a")).toBe(FREE_BYTES + 600);
    unauthenticated.close();
    await waiting;
    expect(caller.hold("a", FREE_BYTES + 800)).toBeUndefined();
  });
});

it("the sum never exceeds the limit, except for a single account, and every account is served", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          bytes: fc.nat(1200),
          steps: fc.integer({ min: 1, max: 4 }),
          unauthenticated: fc.boolean(),
        }),
        {
          maxLength: 20,
        },
      ),
      async (requests) => {
        const shared = budget(1000, 600);
        const shares = new Set<BudgetShare>();
        let most = 0;
        await Promise.all(
          requests.map(async ({ bytes, steps, unauthenticated }) => {
            const share = open(shared, unauthenticated);
            shares.add(share);
            for (let step = 1; step <= steps; step++) {
              // An account that is refused because all wait starts again.
              const got = await succeeds(
                Promise.resolve(share.hold("a", FREE_BYTES + Math.ceil((bytes * step) / steps))),
              );
              if (!got) break;
              if (shared.heldBytes > 1000) most = Math.max(most, shared.heldBytes);
              await new Promise((resolve) => setImmediate(resolve));
            }
            share.close();
            shares.delete(share);
          }),
        );
        expect(most).toBeLessThanOrEqual(1200);
        expect(shares.size).toBe(0);
        expect(shared.heldBytes).toBe(0);
      },
    ),
    { numRuns: 100 },
  );
});
