/**
 * When something is tried next, as far as that is known: a time that is still to come, or that its time has come and it
 * waits for its turn, or that it stands behind an earlier event. A time in the past is never shown. Pure.
 */
import { z } from 'zod';
import { holdMsMax } from '../pacing/rate.ts';

export const nextTryKinds = ['planned', 'due', 'behind'] as const;

export type NextTry =
  /** Not before `at`; the breaker may put it off by 5 minutes at most (interface 12.4). */
  | { kind: 'planned'; at: Date }
  /** Now: it is being sent, or waits for a slot, for its endpoint's rate or for the answer to another attempt. */
  | { kind: 'due' }
  /** After the earlier delivery of its entity. */
  | { kind: 'behind' };

/** The members of an answer that say it. */
export const nextTryAnswer = {
  next_attempt_iso: z.string().nullable(),
  next_attempt: z.enum(nextTryKinds).nullable(),
};

export const nextTryView = (next: NextTry | undefined, iso: (date: Date) => string) => ({
  next_attempt_iso: next?.kind === 'planned' ? iso(next.at) : null,
  next_attempt: next?.kind ?? null,
});

/** What the store knows of an unfinished delivery. */
export type TriedNext = {
  state: string;
  nextAttemptAt: Date | null;
  /** The breaker holds its endpoint until then. */
  heldUntil: Date | null;
  /** Its endpoint was disabled or removed: it will be cancelled. */
  isGivenUp: boolean;
};

const opensAt = (at: Date, heldUntil: Date | null): Date => {
  const heldMs = Math.min(heldUntil?.getTime() ?? 0, at.getTime() + holdMsMax);
  return new Date(Math.max(at.getTime(), heldMs));
};

/** Undefined: nothing is tried any more. */
export const nextTryOf = (row: TriedNext, now: Date): NextTry | undefined => {
  const { state, nextAttemptAt, heldUntil, isGivenUp } = row;
  if (isGivenUp) return undefined;
  if (state === 'waiting') return { kind: 'behind' };
  if (state !== 'pending' || nextAttemptAt === null) return undefined;
  // Of those that are due at a held endpoint only one is tried when the hold ends.
  return nextAttemptAt > now ? { kind: 'planned', at: opensAt(nextAttemptAt, heldUntil) } : { kind: 'due' };
};

/** Of an endpoint: `nextAttempt` is the time of the first one that is to be sent to it; null when there is none. */
export const nextTryOfEndpoint = (
  { nextAttempt, heldUntil }: { nextAttempt: Date | null; heldUntil: Date | null },
  now: Date,
): NextTry | undefined => {
  if (nextAttempt === null) return undefined;
  const at = opensAt(nextAttempt, heldUntil);
  return at > now ? { kind: 'planned', at } : { kind: 'due' };
};
