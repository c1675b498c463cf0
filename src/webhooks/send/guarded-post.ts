/** Posts to addresses that callers name, for other parts of the program, under the rules of webhooks (interface 12.4). */
import { resolverFor } from '../target/resolve.ts';
import { checkTarget, type TargetRules, urlProblem } from '../target/target.ts';
import { createSend, type Send } from './send.ts';

export type GuardedPost = {
  /** Undefined: posts may go to the address. */
  problemOf(url: string): Promise<string | undefined>;
  send: Send;
  close(): Promise<void>;
};

/** An attempt as a whole. */
const timeoutMs = 15_000;
const resolveMsMax = 5_000;

export const createGuardedPost = (rules: TargetRules): GuardedPost => {
  const resolve = resolverFor(rules);
  return {
    problemOf: async (text) => {
      const problem = urlProblem(text, rules);
      if (problem !== undefined) return problem;
      const verdict = await checkTarget(new URL(text), rules, resolve, AbortSignal.timeout(resolveMsMax));
      return verdict.kind === 'allowed' ? undefined : verdict.reason;
    },
    ...createSend({ rules, resolve, timeoutMs }),
  };
};
