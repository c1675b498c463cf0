/**
 * When a delivery or an endpoint is tried next, as far as that is known: at a time to come, now and waiting to be sent,
 * or after an earlier delivery. A time in the past is never shown. Pure.
 */
import { z } from 'zod';
import { holdMsMax } from '../pacing/breaker.ts';

const nextTryKinds = ['planned', 'due', 'behind'] as const;

export type NextTry =
  /** Not before `at`. The breaker may hold it for 5 minutes longer at most (interface 12.4). */
  | { kind: 'planned'; at: Date }
  /**
   * Now: its attempt is in flight, or it waits for a slot, for the rate of its endpoint or for the result of another
   * attempt.
   */
  | { kind: 'due' }
  /** After the earlier delivery of its entity. */
  | { kind: 'behind' };

/** The members of an answer. */
export const nextTryAnswer = {
  next_attempt_iso: z.string().meta({ format: 'date-time' }).nullable().meta({
    id: 'NextAttemptTime',
    description: 'When the next attempt is planned, always in the future; null unless `next_attempt` is `planned`',
  }),
  next_attempt: z.enum(nextTryKinds).nullable().meta({
    id: 'NextAttempt',
    description:
      '`planned`: at `next_attempt_iso`; `due`: now, it is being sent or waits for a slot or the rate of its endpoint; `behind`: after an earlier event of the same entity; null: no further attempt',
  }),
};

export const nextTryView = (next: NextTry | undefined, iso: (date: Date) => string) => ({
  next_attempt_iso: next?.kind === 'planned' ? iso(next.at) : null,
  next_attempt: next?.kind ?? null,
});

/** Stored facts of an unfinished delivery. */
export type TriedNext = {
  state: string;
  nextAttemptAt: Date | null;
  /** The breaker holds its endpoint until then. */
  heldUntil: Date | null;
  /** Its endpoint is disabled or removed, so the delivery will be cancelled. */
  isGivenUp: boolean;
};

const opensAt = (at: Date, heldUntil: Date | null): Date => {
  const heldMs = Math.min(heldUntil?.getTime() ?? 0, at.getTime() + holdMsMax);
  return new Date(Math.max(at.getTime(), heldMs));
};

/** Undefined when no attempt follows. */
export const nextTryOf = (row: TriedNext, now: Date): NextTry | undefined => {
  const { state, nextAttemptAt, heldUntil, isGivenUp } = row;
  if (isGivenUp) return undefined;
  if (state === 'waiting') return { kind: 'behind' };
  if (state !== 'pending' || nextAttemptAt === null) return undefined;
  // Of all deliveries due at a held endpoint, only one is tried when the hold ends.
  return nextAttemptAt > now ? { kind: 'planned', at: opensAt(nextAttemptAt, heldUntil) } : { kind: 'due' };
};

/** The next try of an endpoint. `nextAttempt`: when its first pending delivery is due; null without one. */
export const nextTryOfEndpoint = (
  { nextAttempt, heldUntil }: { nextAttempt: Date | null; heldUntil: Date | null },
  now: Date,
): NextTry | undefined => {
  if (nextAttempt === null) return undefined;
  const at = opensAt(nextAttempt, heldUntil);
  return at > now ? { kind: 'planned', at } : { kind: 'due' };
};
