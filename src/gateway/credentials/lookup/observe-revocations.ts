/**
 * How long revocations of secrets, keys, clients and "tokens before" took to reach this process (single tokens:
 * revoked-tokens.ts). Looked up after a change was heard of and beside the way of requests: at the end of the history,
 * whose length does not matter.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { listLastRevocations } from '../change/state-store.ts';

type ObserveRevocationsDeps = { db: Kysely<unknown>; clock: Clock; observeLag: (seconds: number) => void };

const changesMax = 500;

/** To be called when the epoch has been heard of and counts. The first call only learns what was revoked before. */
export const createObserveRevocations = ({ db, clock, observeLag }: ObserveRevocationsDeps) => {
  let seen: ReadonlySet<number> | undefined;
  let last: Promise<void> = Promise.resolve();

  const look = async (epoch: number, heardMs: number): Promise<void> => {
    const found = await listLastRevocations(db, changesMax);
    // There is more already, which this process has not heard of: then all of it is measured with that.
    if (seen !== undefined && found.epoch !== epoch) return;
    for (const { id, atMs } of found.revocations) {
      if (seen?.has(id) === false) observeLag(Math.max(0, heardMs - atMs) / 1000);
    }
    seen = new Set(found.revocations.map(({ id }) => id));
  };

  return (epoch: number): void => {
    const heardMs = clock.now().getTime();
    last = last.then(() => look(epoch, heardMs)).catch(() => undefined);
  };
};
