/** Stands for `vitest` in a page: its runner and its matchers, with a clock that tests can set. */

import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  customMatchers,
  GLOBAL_EXPECT,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from "@vitest/expect";
import { getCurrentTest } from "@vitest/runner";

export {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  it,
  onTestFailed,
  onTestFinished,
  test,
} from "@vitest/runner";

// biome-ignore lint/suspicious/noExplicitAny: chai adds its members at run time
type Dynamic = any;

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);
chai.config.truncateThreshold = 2000;

const expectValue: Dynamic = (value: unknown, message?: string) => {
  setState({ assertionCalls: getState(expectValue).assertionCalls + 1 }, expectValue);
  const assertion = chai.expect(value, message) as Dynamic;
  const current = getCurrentTest();
  return current === undefined ? assertion : assertion.withTest(current);
};

const globals = globalThis as Dynamic;
export const expect = Object.assign(expectValue, chai.expect, globals[ASYMMETRIC_MATCHERS_OBJECT], {
  getState: () => getState(expectValue),
  setState: (state: object) => setState(state, expectValue),
  extend: (matchers: object) => (chai.expect as Dynamic).extend(expectValue, matchers),
  soft: (value: unknown, message?: string) => {
    const assertion = expectValue(value, message);
    chai.util.flag(assertion, "soft", true);
    return assertion;
  },
});
globals[GLOBAL_EXPECT] = expect;
setState({ assertionCalls: 0, isExpectingAssertions: false }, expectValue);
expect.extend(customMatchers);

const RealDate = Date;
let setTimeMs: number | null = null;

class SetDate extends RealDate {
  constructor(...operands: readonly unknown[]) {
    if (operands.length === 0) super(setTimeMs ?? RealDate.now());
    else super(...(operands as ConstructorParameters<typeof Date>));
  }

  static override now(): number {
    return setTimeMs ?? RealDate.now();
  }
}

/** The clock of `vi`. */
export const vi = {
  useFakeTimers({ now }: { readonly now: number }): void {
    setTimeMs = now;
    globalThis.Date = SetDate as DateConstructor;
  },
  setSystemTime(timeMs: number): void {
    setTimeMs = timeMs;
  },
  useRealTimers(): void {
    setTimeMs = null;
    globalThis.Date = RealDate;
  },
};
