/** Posts to addresses that callers name, for other parts of the program, under the rules of webhooks (interface 12.4). */
import { askedSeconds } from '../pacing/retry-schedule.ts';
import { resolverFor } from '../target/resolve.ts';
import { checkTarget, type TargetRules, urlProblem } from '../target/target.ts';
import { createSend } from './send.ts';
import type { SendResult } from './send-result.ts';

/** `askedSeconds`: how long the receiver wants no other one. */
type Post = (
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
) => Promise<SendResult & { askedSeconds: number | undefined }>;

export type GuardedPost = {
  /** Undefined: posts may go to the address. */
  problemOf(url: string): Promise<string | undefined>;
  send: Post;
  close(): Promise<void>;
};

/** An attempt as a whole. */
const timeoutMs = 15_000;
const resolveMsMax = 5_000;

export const createGuardedPost = (rules: TargetRules): GuardedPost => {
  const resolve = resolverFor(rules);
  const { send, close } = createSend({ rules, resolve, timeoutMs });
  return {
    problemOf: async (text) => {
      const problem = urlProblem(text, rules);
      if (problem !== undefined) return problem;
      const verdict = await checkTarget(new URL(text), rules, resolve, AbortSignal.timeout(resolveMsMax));
      return verdict.kind === 'allowed' ? undefined : verdict.reason;
    },
    send: async (url, headers, body, signal) => {
      const result = await send(url, headers, body, signal);
      return { ...result, askedSeconds: askedSeconds(result, new Date()) };
    },
    close,
  };
};
